// Parses a YAML file that a user wrote: that of --config, or that of --access.
#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "baton/result.h"

namespace baton::app {

/// Parses `text`, which came from `path`. Returns a null node if the text is empty or has only
/// comments. Does not look for repeated keys; that is left to the caller. kInvalidArgument: the
/// text is not YAML, or has more than one document. The message is one line that names `path` and
/// the line there. Any thread.
Result<YAML::Node> ParseYamlDocument(const std::string& path, const std::string& text);

}  // namespace baton::app
