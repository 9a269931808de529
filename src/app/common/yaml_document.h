// The one YAML document of a file that a user wrote: that of --config, and that of --access.
#pragma once

#include <string>

#include <yaml-cpp/yaml.h>

#include "baton/result.h"

namespace baton::app {

/// Parses `text`. An empty text, or one of comments alone, is a null node. Returns kInvalidArgument
/// if the text is not YAML, or has more than one document; the message is one line that names
/// `path` and the line in it. Any thread.
Result<YAML::Node> ParseYamlDocument(const std::string& path, const std::string& text);

}  // namespace baton::app
