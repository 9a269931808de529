// The checkers' part that counts what storms of crashes can break: takeovers of the living, and
// leaderships of others under FailoverPolicy::kNever. It judges the latter a second time, by who
// led last instead of by what records say (that is checkers_failover.cc).
#include "sim/checkers.h"

namespace baton::sim {
namespace {

constexpr const char* kStormNames[kStorms] = {
    "kill",          "known death",  "stop and kill",   "stop",          "fork",     "guard killed",
    "guard stopped", "killed twice", "several at once", "left in order", "disk lost"};

}  // namespace

const char* ToString(Storm storm) { return kStormNames[static_cast<std::size_t>(storm)]; }

void Checkers::FalselyEnded(const std::string& what) {
  ++observed_.false_takeovers;
  Violation("I1", what);
}

// `by_leader`: it wrote the record in its living session, or handed the shard over before its
// session ended. It keeps what it resigns in order to stop.
void Checkers::NoteGivenUp(ShardId shard, const RecordFact& after, int origin, bool by_leader) {
  ShardHistory& seen = history(shard);
  const bool never = failover_.policy == FailoverPolicy::kNever;
  const bool stops = after.leader.empty() && after.reason == Reason::kShutdown;
  // By force, by a node that the operator asked.
  const bool released =
      after.leader.empty() && after.reason == Reason::kOperator && releases_asked_.contains(shard);
  if (!never || origin == kByOperator || released || (by_leader && !stops)) seen.given_up = true;
  if (!after.leader.empty()) seen.claimed_under_never = never;
}

// The process begins to lead the shard for the first time by this record. If its session has led
// the shard before, the record was damaged meanwhile, and another node has replaced it.
void Checkers::NoteBegun(const Process& process, ShardId shard, const RecordFact& record) {
  ShardHistory& seen = history(shard);
  ++observed_.leaderships;
  observed_.leaderships_under_never += seen.claimed_under_never;
  const bool again = seen.last_leader == process.node() && seen.last_directory != 0 &&
                     seen.last_directory == record.directory;
  const bool same = again || seen.last_session == record.session;
  if (!seen.last_leader.empty() && !same && !seen.given_up) {
    ++observed_.foreign_leaderships;
    Violation("I12", process.Name() + " leads " + Text(shard) + " after " + seen.last_leader +
                         ", which did not give it up");
  }
  seen.last_session = record.session;
  seen.last_directory = record.directory;
  seen.given_up = false;
}

}  // namespace baton::sim
