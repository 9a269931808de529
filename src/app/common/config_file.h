// The YAML file of --config: one mapping of flag names (without the dashes) to values.
#pragma once

#include <map>
#include <set>
#include <string>

#include "baton/result.h"

namespace baton::app {

struct ConfigValue {
  std::string text;  ///< as a flag's value is written; lists are joined by commas
  int line = 0;      ///< from 1
};

/// Reads the file, which may be empty. kInvalidArgument: it can't be read, is larger than 1 MiB, is
/// not YAML or not one mapping, or a key is not in `known` or appears twice; the message names the
/// file, the line and the key.
Result<std::map<std::string, ConfigValue>> ReadConfigFile(const std::string& path,
                                                          const std::set<std::string>& known);

}  // namespace baton::app
