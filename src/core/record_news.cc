#include "core/record_news.h"

#include <optional>
#include <string>
#include <utility>

#include "core/detection.h"

namespace baton::core {

void RecordNews::Note(Context& context, const ViewChanges& changes,
                      const Leaderships& leaderships) {
  seen_.Begin(context.view);
  NoteUnusableText(context, changes);
  for (const ShardId shard : changes.shards) {
    const RecordFact& record = context.view.record(shard);
    if (record.present && record.readability != Readability::kReadable) {
      NoteDamage(context, shard, record);
      continue;
    }
    std::optional<Transition> seen = seen_.Look(context.view, shard);
    // The node's own gain is reported once it is activated, with its duration.
    const auto held = leaderships.held().find(shard);
    const bool ours = held != leaderships.held().end() && held->second.term == record.term();
    if (!seen || ours) continue;
    AddDetection(context, *seen);
    context.Do(SeeTransition{*std::move(seen)});
  }
  for (const NodeId& node : changes.flapping) {
    const auto delay =
        std::chrono::duration_cast<std::chrono::seconds>(context.view.steadiness().DelayOf(node));
    context.Say(Notice::Level::kWarning,
                "node " + node + " comes and goes: when it is back it gets no shards for " +
                    std::to_string(delay.count()) + " s");
  }
}

void RecordNews::NoteDamage(Context& context, ShardId shard, const RecordFact& record) {
  if (std::exchange(damage_said_[shard], record.revision) == record.revision) return;
  ++damaged_;
  const bool newer = record.readability == Readability::kNewerSchema;
  const bool never = context.view.failover().policy == FailoverPolicy::kNever;
  context.Say(Notice::Level::kError,
              "the record of shard " + std::to_string(shard.value) + " at revision " +
                  std::to_string(record.revision.value) +
                  (newer ? " is of a newer schema; this node leaves it alone: update this node"
                         : " can't be read; its bytes (4 KiB at most) will be kept under "
                           "quarantine/, and it will be replaced") +
                  (never && !newer ? ", if its last leader does not live only once an operator "
                                     "releases the shard (failover is 'never')"
                                   : ""));
}

void RecordNews::NoteUnusableText(Context& context, const ViewChanges& changes) {
  for (const NodeId& node : changes.changed_members) {
    const MemberFact* const member = context.view.member(node);
    if (member == nullptr || !member->present || !member->unusable_text) {
      text_said_.erase(node);
      continue;
    }
    if (std::exchange(text_said_[node], member->revision) == member->revision) continue;
    ++damaged_;
    context.Say(
        Notice::Level::kWarning,
        "the record of member " + node + " at revision " + std::to_string(member->revision.value) +
            " has an address, zone, label, version or list of ready shards that can't be used; it "
            "counts as empty");
  }
}

}  // namespace baton::core
