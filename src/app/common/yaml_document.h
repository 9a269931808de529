// Parses YAML that a user wrote: the files of --config and --access, and those of placement rules.
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "baton/result.h"

namespace baton::app {

/// Parses `text`, which came from `path`. Returns a null node if the text is empty, has only
/// comments, or is a YAML null such as "~". Does not look for repeated keys; the caller must.
/// kInvalidArgument: the text is not YAML, or has more than one document. The message is one line:
/// "PATH:LINE: " and what is wrong.
Result<YAML::Node> ParseYamlDocument(const std::string& path, const std::string& text);

/// A fault at `node` of the text that came from `path` (kInvalidArgument): "PATH:LINE: " and
/// `what`.
Error YamlFault(const std::string& path, const YAML::Node& node, const std::string& what);

/// The text in quotes, as one line of at most 64 bytes (OneLine), for messages.
std::string QuotedWord(const std::string& text);

/// Whether `word` is a text in YAML without quotes. False for words such as "True" and "no", and
/// for all that don't begin with an ASCII letter. The other characters are not checked.
bool IsPlainYaml(std::string_view word);

}  // namespace baton::app
