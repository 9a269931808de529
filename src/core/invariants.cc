#include "core/invariants.h"

namespace baton::core {
namespace {

// Writes in flight are claims, one transfer, a batch each of resignations and abandons, moves, and
// operators' requests. In practice there are far fewer; more means that something is sent
// endlessly.
constexpr std::size_t kMaxPendingWrites = 256;

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
}

}  // namespace

std::vector<std::string> FindViolations(const Core& core) {
  std::vector<std::string> wrong;
  CheckHeld(core, wrong);
  CheckSession(core, wrong);
  if (core.pending_writes() > kMaxPendingWrites) wrong.push_back("too many writes in flight");
  return wrong;
}

}  // namespace baton::core
