#include "core/invariants.h"

#include <map>

#include "core/may_claim.h"

namespace baton::core {
namespace {

// Writes in flight are claims, one transfer, a batch each of resignations and abandons, moves, and
// operators' requests. In practice there are far fewer; more means that something is sent
// endlessly.
constexpr std::size_t kMaxPendingWrites = 256;

// In larger groups a look at every shard after every step would take most of a test's time.
constexpr std::uint32_t kMaxIndexesChecked = 64;

std::string Name(ShardId shard) { return "shard " + std::to_string(shard.value); }

void CheckHeld(const Core& core, std::vector<std::string>& wrong) {
  for (const auto& [shard, held] : core.leaderships().held()) {
    const RecordFact& record = core.view().record(shard);
    if (!core.session().member()) wrong.push_back(Name(shard) + " is held without a session");
    const bool named = record.present && record.readability == Readability::kReadable &&
                       record.leader == core.options().self.node &&
                       record.session == core.session().id();
    if (!named) wrong.push_back(Name(shard) + " is held, but its record names somebody else");
    if (record.term() != held.term) wrong.push_back(Name(shard) + " is held with another term");
    if (held.activated && held.activation != 0) {
      wrong.push_back(Name(shard) + " is activated, but `acquired` still runs");
    }
    if (core.standby_duties().Has(shard)) wrong.push_back(Name(shard) + " is held by a standby");
    if (held.activated && held.unreported) {
      wrong.push_back(Name(shard) + " is activated, but its transition was not reported");
    }
  }
}

void CheckSession(const Core& core, std::vector<std::string>& wrong) {
  const bool deadline = core.session().deadline() != TimePoint::min();
  if (deadline && !core.session().member()) wrong.push_back("a deadline without a session");
  if (core.finished() && !core.leaderships().held().empty()) {
    wrong.push_back("finished, but holds shards");
  }
  if (core.halted() && !core.leaderships().held().empty()) {
    wrong.push_back("halted, but holds shards");
  }
  if ((core.finished() || core.halted()) && core.standby_duties().size() > 0) {
    wrong.push_back("finished or halted, but stands by");
  }
}

// The view updates its replicas as nodes come and go; they are those of a new computation.
void CheckStandbys(const View& view, std::vector<std::string>& wrong) {
  if (!view.standbys().settled()) return;
  std::vector<const MemberFact*> nodes;
  for (const auto& [node, member] : view.members()) {
    if (EligibilityOf(view, member) == Eligibility::kYes) nodes.push_back(&member);
  }
  Standbys fresh;
  fresh.Update(view.rules(), view.shard_count(), nodes);
  for (std::uint32_t s = 0; s < view.shard_count(); ++s) {
    const ShardId shard{s};
    if (fresh.ReplicasOf(shard) == view.standbys().ReplicasOf(shard)) continue;
    wrong.push_back(Name(shard) + " has other replicas than a new computation gives");
  }
}

// The view's counts and indexes, kept as facts arrive, agree with its facts.
void CheckIndexes(const View& view, std::vector<std::string>& wrong) {
  std::map<NodeId, std::uint32_t> led;
  for (std::uint32_t s = 0; s < view.shard_count(); ++s) {
    const RecordFact& record = view.record(ShardId{s});
    const bool in_force = view.InForce(record);
    if (in_force != view.InForce(ShardId{s})) wrong.push_back(Name(ShardId{s}) + ": in force?");
    if (in_force) ++led[record.leader];
    const auto named =
        record.leader.empty() ? LeaderIndex::kNobody : view.leaders().NumberOf(record.leader);
    if (named != view.leaders().Of(ShardId{s})) wrong.push_back(Name(ShardId{s}) + ": whose?");
  }
  std::size_t live = 0;
  for (const auto& [node, member] : view.members()) {
    live += member.Live() ? 1 : 0;
    if (view.LedBy(node) != led[node]) wrong.push_back(node + " leads another number of shards");
    std::uint32_t listed = 0;
    view.leaders().ForEachOf(node, [&, &leader = node](ShardId shard) {
      listed += view.record(shard).leader == leader && view.InForce(shard) ? 1 : 0;
    });
    if (listed != led[node]) wrong.push_back(node + " has another list of shards");
  }
  if (live != view.LiveMembers()) wrong.push_back("another number of members is live");
}

}  // namespace

std::vector<std::string> FindViolations(const Core& core) {
  std::vector<std::string> wrong;
  CheckHeld(core, wrong);
  CheckSession(core, wrong);
  if (core.view().shard_count() <= kMaxIndexesChecked) {
    CheckIndexes(core.view(), wrong);
    CheckStandbys(core.view(), wrong);
  }
  if (core.pending_writes() > kMaxPendingWrites) wrong.push_back("too many writes in flight");
  return wrong;
}

}  // namespace baton::core
