#include "app/common/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>
#include <utility>
#include <vector>

#include "app/common/did_you_mean.h"
#include "app/common/yaml_document.h"
#include "base/small_file.h"

namespace baton::app {
namespace {

int LineOf(const YAML::Node& node) { return node.Mark().line + 1; }

Error At(const std::string& path, int line, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", path, line, what)};
}

/// The text of a scalar, or of a list of scalars joined by commas; unset for anything else.
std::optional<std::string> TextOf(const YAML::Node& node) {
  if (node.IsScalar()) return node.Scalar();
  if (!node.IsSequence() || node.size() == 0) return std::nullopt;
  std::vector<std::string> items;
  for (const YAML::Node& item : node) {
    if (!item.IsScalar()) return std::nullopt;
    items.push_back(item.Scalar());
  }
  return fmt::format("{}", fmt::join(items, ","));
}

Result<std::map<std::string, ConfigValue>> Values(const std::string& path, const YAML::Node& root,
                                                  const std::set<std::string>& known) {
  std::map<std::string, ConfigValue> values;
  if (root.IsNull() || !root.IsDefined()) return values;
  if (!root.IsMap()) {
    return At(path, LineOf(root), "expected a mapping of flag names to values, such as ttl: 10s");
  }
  for (const auto& entry : root) {
    const int line = LineOf(entry.first);
    if (!entry.first.IsScalar()) return At(path, line, "a key is not a word");
    const std::string& key = entry.first.Scalar();
    if (!known.contains(key)) {
      const std::string meant = DidYouMean(key, {known.begin(), known.end()});
      return At(
          path, line,
          fmt::format("unknown key \"{}\"{}", key,
                      meant.empty() ? "; expected a flag of batond --help, without its two dashes"
                                    : meant));
    }
    const std::optional<std::string> text = TextOf(entry.second);
    if (!text) {
      return At(path, line,
                fmt::format("\"{}\" has no simple value; expected a word, or a list such as "
                            "[disk=ssd, rack=r7]",
                            key));
    }
    if (!values.emplace(key, ConfigValue{*text, line}).second) {
      return At(path, line, fmt::format("\"{}\" is there twice; keep one", key));
    }
  }
  return values;
}

}  // namespace

Result<std::map<std::string, ConfigValue>> ReadConfigFile(const std::string& path,
                                                          const std::set<std::string>& known) {
  Result<std::string> content = ReadSmallFile(path);
  if (!content) return content.error();
  const Result<YAML::Node> root = ParseYamlDocument(path, content.value());
  return root ? Values(path, root.value(), known) : root.error();
}

}  // namespace baton::app
