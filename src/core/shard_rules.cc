#include "core/shard_rules.h"

#include <algorithm>
#include <limits>

#include "base/check.h"

namespace baton::core {

static_assert(kMaxPlacementRules < std::numeric_limits<std::uint8_t>::max());

void ShardRules::Set(const Placement& placement, std::uint32_t shards) {
  BATON_CHECK(placement.size() <= kMaxPlacementRules);
  placement_ = placement;
  const auto no_rule = static_cast<std::uint8_t>(placement_.size());
  rule_of_.assign(empty() ? 0 : shards, no_rule);
  if (rule_of_.empty()) return;
  // The first rule that names a shard counts, so the first rule comes last.
  for (std::size_t number = placement_.size(); number-- > 0;) {
    const auto mark = [&](std::uint32_t first, std::uint32_t last) {
      if (first >= shards) return;
      const std::uint32_t end = std::min(last, shards - 1) + 1;
      std::fill(rule_of_.begin() + first, rule_of_.begin() + end,
                static_cast<std::uint8_t>(number));
    };
    const PlacementRule& rule = placement_[number];
    if (rule.shards.empty()) mark(0, shards - 1);
    for (const ShardRange& range : rule.shards) mark(range.first, range.last);
  }
}

}  // namespace baton::core
