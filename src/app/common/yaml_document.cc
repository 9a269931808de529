#include "app/common/yaml_document.h"

#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "base/escape.h"

namespace baton::app {
namespace {

constexpr std::size_t kLongestWhy = 64;

Error WrongAt(const std::string& path, const YAML::Mark& mark, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", path, mark.line + 1, what)};
}

}  // namespace

Result<YAML::Node> ParseYamlDocument(const std::string& path, const std::string& text) {
  try {
    // All of them: YAML::Load reads the first, and what follows it would be ignored without a word.
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      return WrongAt(path, documents[1].Mark(),
                     "a second YAML document begins here (after \"---\" or \"...\"); keep one");
    }
    return documents.empty() ? YAML::Node() : documents.front();
  } catch (const YAML::Exception& malformed) {
    // yaml-cpp repeats a byte of the text, which may steer a terminal.
    return WrongAt(path, malformed.mark,
                   "this is not YAML: " + OneLine(malformed.msg, kLongestWhy));
  }
}

}  // namespace baton::app
