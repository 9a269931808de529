// Parses YAML that users write: the files of --config and --access, and files of placement rules.
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "baton/result.h"

namespace baton::app {

/// Parses `text`, which came from `path`. Returns a null node if the text is empty, has only
/// comments, or is a YAML null such as "~". Accepts repeated keys, so the caller must check for
/// them. kInvalidArgument: the text is not YAML, or has more than one document. The message is one
/// line: "PATH:LINE: " and what is wrong.
Result<YAML::Node> ParseYamlDocument(const std::string& path, const std::string& text);

/// Makes the error (kInvalidArgument) for a fault at `node`, which is a part of the text that came
/// from `path`. The message is "PATH:LINE: " and `what`.
Error YamlFault(const std::string& path, const YAML::Node& node, const std::string& what);

/// Returns the text in quotes, as one line, for messages. A long text is cut to 64 bytes and "..."
/// (OneLine).
std::string QuotedWord(const std::string& text);

/// Whether YAML reads `word` as a text even without quotes. False for words that YAML reads as
/// another type, such as "True" and "no". False if `word` does not begin with an ASCII letter. The
/// other characters are not checked, although some (such as ':' and '#') may need quotes.
bool IsPlainYaml(std::string_view word);

}  // namespace baton::app
