#include "core/force_release.h"

#include <chrono>
#include <string>

#include "base/duration_text.h"
#include "core/may_claim.h"

namespace baton::core {
namespace {

// The leadership that a release ends: of the leader that the record names, or of the node that
// resigned it and has it kept. No node: the shard belongs to nobody.
SessionRef Ended(const View& view, ShardId shard) {
  const RecordFact& record = view.record(shard);
  return {record.leader.empty() ? OwnerOf(view, shard) : record.leader, record.session};
}

// Under kNever no node replaces a damaged record of the dead: it says no more whose the shard is.
// So an operator has to say that it is anybody's.
Result<ForceRelease> ReleaseOfUnreadable(const Context& context, const ReleaseRequested& asked) {
  const View& view = context.view;
  const RecordFact& record = view.record(asked.shard);
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::kFailedPrecondition,
                 "shard " + std::to_string(asked.shard.value) + "'s record " + why};
  };
  if (record.readability == Readability::kNewerSchema) {
    return refuse("was written by a newer version: ask a node of that version");
  }
  const auto last = view.LastKnownLeader(asked.shard);
  const TimePoint over = DamageOverAt(view, asked.shard, context.options.settle);
  // That node may have missed who led in between. It knows for itself that it no longer leads.
  if (over == TimePoint::max()) {
    return refuse(
        "is damaged, and '" + last->node +
        "', which led last and whose session is alive, replaces it; if it does not, send " +
        "the release to '" + last->node + "' (--endpoint)");
  }
  if (view.failover().policy != FailoverPolicy::kNever) {
    return refuse(
        "is damaged, and the nodes replace it by themselves: there is nothing to release");
  }
  if (context.now < over) {
    return refuse("is damaged, and nobody knows who led last: try again in " +
                  FormatDuration(std::chrono::ceil<std::chrono::seconds>(over - context.now)) +
                  ", once no such leader can be left");
  }
  return ForceRelease{.shard = asked.shard,
                      .term = record.term(),
                      .dead = last.value_or(SessionRef{}),
                      .actor = asked.actor,
                      .tally = context.Tally(asked.shard),
                      .quarantined = record.damaged_value};
}

}  // namespace

Result<ForceRelease> ForceReleaseFor(const Context& context, const ReleaseRequested& asked) {
  const View& view = context.view;
  const std::string shard = "shard " + std::to_string(asked.shard.value);
  const auto refuse = [&](const std::string& why) {
    return Error{ErrorCode::kFailedPrecondition, shard + why};
  };
  const RecordFact& record = view.record(asked.shard);
  if (!record.present) return refuse(" has no record, so any node may claim it");
  if (record.readability != Readability::kReadable) return ReleaseOfUnreadable(context, asked);
  const SessionRef owner = Ended(view, asked.shard);
  if (owner.node.empty()) return refuse(" is led by nobody, and any node may claim it");
  if (view.SessionAlive(owner)) {
    if (record.leader.empty()) {
      return refuse(" was resigned by '" + owner.node + "', which still stops: try again once it " +
                    "has ended");
    }
    return refuse(" is led by '" + owner.node + "', whose session is alive: use `batonctl shards " +
                  "transfer`");
  }
  if (view.failover().policy == FailoverPolicy::kImmediate) {
    return refuse(
        " waits for no node, because the group's failover is immediate: there is nothing "
        "to release");
  }
  return ForceRelease{.shard = asked.shard,
                      .term = record.term(),
                      .dead = owner,
                      .stopped = LastLeaderStopped(view, asked.shard),
                      .actor = asked.actor,
                      .tally = context.Tally(asked.shard),
                      .unknown_fields = record.unknown_fields};
}

}  // namespace baton::core
