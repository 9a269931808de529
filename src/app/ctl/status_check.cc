#include "app/ctl/status_check.h"

#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/escape.h"
#include "base/limits.h"
#include "base/text_rules.h"

namespace baton::app {
namespace {

Error Strange(const std::string& what) {
  return {ErrorCode::kInternal, fmt::format("the answer {}: is it a Baton node's?", what)};
}

}  // namespace

Status CheckStatus(const v1::NodeStatus& status) {
  if (status.shard_count() > kMaxShards) return Strange("names too many shards");
  std::set<std::string_view> ids;
  for (const v1::MemberStatus& member : status.members()) {
    if (ids.insert(member.node()).second) continue;
    return Strange(fmt::format("has two members '{}'", OneLine(member.node(), kLongestName)));
  }
  return Ok();
}

}  // namespace baton::app
