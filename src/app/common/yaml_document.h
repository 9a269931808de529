// Parses YAML that a user wrote: the files of --config, of --access, and of placement rules. Any
// thread.
#pragma once

#include <string>
#include <string_view>

#include <yaml-cpp/yaml.h>

#include "baton/result.h"

namespace baton::app {

/// Parses `text`, which came from `path`. Returns a null node if the text is empty, has only
/// comments, or is a YAML null such as "~". Does not look for repeated keys, so the caller must do
/// this. kInvalidArgument: the text is not YAML, or has more than one document. The message is one
/// line: "PATH:LINE: " and what is wrong.
Result<YAML::Node> ParseYamlDocument(const std::string& path, const std::string& text);

/// Makes the error (kInvalidArgument) for a fault at `node`, which is a part of the text that came
/// from `path`. The message is "PATH:LINE: " and `what`.
Error YamlFault(const std::string& path, const YAML::Node& node, const std::string& what);

/// The text in quotes, as one line, for messages. Of a longer text, OneLine keeps at most 64 bytes
/// and adds "...".
std::string QuotedWord(const std::string& text);

/// Whether YAML reads `word` as a text even without quotes. False for words such as "True" and
/// "no", which YAML reads as another type, and for each word that does not begin with an ASCII
/// letter. The characters after the first one are not checked, although some of them (such as ':'
/// and '#') may need quotes.
bool IsPlainYaml(std::string_view word);

}  // namespace baton::app
