// The YAML file of --config: one mapping of flag names (without the dashes) to values.
#pragma once

#include <map>
#include <set>
#include <string>

#include "baton/result.h"

namespace baton::app {

struct ConfigValue {
  std::string text;  ///< as a flag's value would be; lists are joined by commas
  int line = 0;      ///< from 1
};

/// kInvalidArgument: not readable, not YAML, or not of this shape; the message names file and line.
/// A key that is not in `known`, or stands twice, is refused by name.
Result<std::map<std::string, ConfigValue>> ReadConfigFile(const std::string& path,
                                                          const std::set<std::string>& known);

/// A whole file of at most 1 MiB (certificates, passwords, configuration). kInvalidArgument: it
/// can't be read, and why; the message names the file.
Result<std::string> ReadSmallFile(const std::string& path);

}  // namespace baton::app
