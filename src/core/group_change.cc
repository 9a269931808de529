#include "core/group_change.h"

#include <cstddef>
#include <utility>

#include "base/duration_text.h"
#include "base/limits.h"
#include "core/group_config.h"

namespace baton::core {
namespace {

constexpr std::size_t kMaxNamed = 5;

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

/// The names of the members of which `which` holds, in quotes; at most kMaxNamed of them.
template <typename Which>
std::string Named(const View& view, Which which) {
  std::string names;
  std::size_t count = 0;
  for (const auto& [node, member] : view.members()) {
    if (!member.present || !which(member)) continue;
    if (++count <= kMaxNamed) names += (count == 1 ? "'" : ", '") + node + "'";
  }
  if (count > kMaxNamed) names += " and " + std::to_string(count - kMaxNamed) + " more";
  return names;
}

// Also those whose records can't be read: a newer version may have written them, but nobody knows.
Status EveryMemberKeepsThem(const View& view, std::uint32_t protocol) {
  const std::string names =
      Named(view, [&](const MemberFact& member) { return member.protocol_version < protocol; });
  if (names.empty()) return Ok();
  return Error{ErrorCode::kFailedPrecondition,
               "these members run a version that would not keep to such settings: " + names +
                   "; update them, or stop them, then try again"};
}

// A member that leads nothing, and may not begin to, has nothing to take back.
Status EveryMemberCouldTakeBack(const View& view) {
  const std::string names = Named(view, [&](const MemberFact& member) {
    const bool drained = view.policy({PolicyKind::kDrain, member.node}) != nullptr;
    const bool begins = member.weight > 0 && !drained;
    return member.directory == 0 && (begins || view.LedBy(member.node) > 0);
  });
  if (names.empty()) return Ok();
  return Error{ErrorCode::kFailedPrecondition,
               "these members have no state directory, so after a restart they could not take back "
               "what they led, and nobody else may: " +
                   names +
                   "; give each one that it keeps (--state-dir), or drain it until it leads "
                   "nothing and leave it drained, then try again"};
}

// A config that does not fit is about to be put back: see ConfigKeeper.
Status MayChange(const ConfigFact& config, const CoreOptions& options) {
  if (!config.present) {
    return Error{ErrorCode::kUnavailable, "the group has no config yet; try again in a moment"};
  }
  const GroupExpectation expected{
      .reader = ConfigReader::kNode,
      .key = options.config_key,
      .shape = GroupShape{.shards = options.shards, .hash = options.hash}};
  if (auto wrong = CheckGroupConfig(config, expected)) return *std::move(wrong);
  return Ok();
}

}  // namespace

std::string SettingWords(const FailoverSettings& settings) {
  std::string words = std::string("failover ") + ToString(settings.policy);
  if (settings.policy == FailoverPolicy::kAfter) {
    words += ", failover-delay " + FormatDuration(settings.delay);
  }
  return words + ", lock-delay " + FormatDuration(settings.lock_delay);
}

std::string PlacementWords(std::size_t rules) {
  if (rules == 0) return "placement no rules";
  return "placement " + std::to_string(rules) + (rules == 1 ? " rule" : " rules");
}

Result<FailoverSettings> SettingsAfter(const FailoverSettings& now,
                                       const GroupChangeRequested& asked) {
  FailoverSettings after = now;
  after.policy = asked.failover.value_or(now.policy);
  after.delay = asked.delay.value_or(now.delay);
  after.lock_delay = asked.lock_delay.value_or(now.lock_delay);
  if (after.policy == FailoverPolicy::kAfter) {
    if (!asked.delay && now.policy != FailoverPolicy::kAfter) {
      return Invalid("failover=after needs failover-delay: give failover-delay=30s, for example");
    }
    if (after.delay < kShortestFailoverDelay || after.delay > kLongestFailoverDelay) {
      return Invalid("failover-delay is " + FormatDuration(after.delay) + "; give " +
                     FormatDuration(kShortestFailoverDelay) + " to " +
                     FormatDuration(kLongestFailoverDelay));
    }
  } else if (asked.delay) {
    return Invalid(std::string("failover-delay counts only with failover=after, and failover is ") +
                   ToString(after.policy) + ": give failover=after, too, or no failover-delay");
  } else {
    after.delay = {};
  }
  if (after.lock_delay < std::chrono::milliseconds(0) || after.lock_delay > kLongestLockDelay) {
    return Invalid("lock-delay is " + FormatDuration(after.lock_delay) + "; give 0 to " +
                   FormatDuration(kLongestLockDelay));
  }
  if (after.policy == FailoverPolicy::kAfter && after.lock_delay >= after.delay) {
    return Invalid("lock-delay is " + FormatDuration(after.lock_delay) + ", and failover-delay " +
                   FormatDuration(after.delay) +
                   ": the node that led could never come back in time; give a shorter lock-delay");
  }
  return after;
}

Result<std::optional<NextConfig>> NextConfigFor(const View& view, const CoreOptions& options,
                                                const GroupChangeRequested& asked) {
  const ConfigFact& config = view.config();
  if (Status may = MayChange(config, options); !may) return may.error();
  const Result<FailoverSettings> after = SettingsAfter(config.failover, asked);
  if (!after) return after.error();
  const Placement& placement = asked.placement ? *asked.placement : config.placement;
  const bool places = placement != config.placement;
  if (!places && after.value() == config.failover) return std::optional<NextConfig>();
  if (Status sound = CheckPlacement(placement); !sound) return sound.error();
  const std::uint32_t protocol = places ? kPlacementProtocol : kFailoverProtocol;
  if (Status keeps = EveryMemberKeepsThem(view, protocol); !keeps) return keeps.error();
  const bool begins_never = after.value().policy == FailoverPolicy::kNever &&
                            config.failover.policy != FailoverPolicy::kNever;
  if (begins_never) {
    if (Status all = EveryMemberCouldTakeBack(view); !all) return all.error();
  }
  const std::uint32_t schema = places ? kPlacementSchema : kFailoverSchema;
  NextConfig next{.config = config, .last = config.schema >= schema};
  next.config.before_settings = config.Incarnation();
  if (next.last) {
    next.config.failover = after.value();
    next.config.placement = placement;
    next.config.actor = asked.actor;
  } else {
    next.config.schema = schema;
  }
  return std::optional(std::move(next));
}

}  // namespace baton::core
