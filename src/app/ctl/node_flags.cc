#include "app/ctl/node_flags.h"

#include <utility>

#include <fmt/format.h>

#include "base/escape.h"
#include "base/text_rules.h"

namespace baton::app {

Result<NodeChange> ParseNodeFlags(const NodeFlags& flags) {
  const auto wrong = [](std::string message) {
    return Error{ErrorCode::kInvalidArgument, std::move(message)};
  };
  NodeChange change{.weight = flags.weight,
                    .removed = {flags.removed.begin(), flags.removed.end()}};
  for (const std::string& item : flags.labels) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) {
      return wrong(fmt::format("\"{}\" is no label; expected NAME=VALUE, such as disk=ssd",
                               OneLine(item, kLongestName)));
    }
    const auto added = change.labels.emplace(item.substr(0, equals), item.substr(equals + 1));
    if (!added.second) {
      return wrong(fmt::format("label \"{}\" is given twice; give one value",
                               OneLine(item.substr(0, equals), kLongestName)));
    }
  }
  if (change.empty()) return wrong("give --weight, --label or --remove-label");
  const Result<NodeSettings> sound = SettingsAfter({}, change);
  if (!sound) return sound.error();
  return change;
}

}  // namespace baton::app
