// The checkers' part for members that come and go, and for how fast claims are made: I11. What each
// process has seen of the members is noted here, from its view's facts alone.
#include <algorithm>

#include "core/options.h"
#include "sim/checkers.h"

namespace baton::sim {
namespace {

// The rates of clocks differ by less. So these hold by any clock if they hold by the true one.
constexpr Duration SurelyWithin(Duration length) { return length * 19 / 20; }
constexpr Duration PerhapsWithin(Duration length) { return length * 21 / 20; }

constexpr Duration kMoreThanAsked = seconds(2);  // etcd may grant a longer TTL
// Groups here have fewer than 30 members. So a tenth of them is no more.
constexpr int kMayBeGone = 2;

// How long a member has to stay after this many short sessions in a row.
Duration StayAfter(int short_sessions) {
  if (short_sessions < core::kFlapsAfter) return Duration{0};
  Duration stay = core::kUnsteadyDelay;
  for (int i = core::kFlapsAfter; i < short_sessions && stay < core::kMaxUnsteadyDelay; ++i) {
    stay *= 2;
  }
  return std::min(stay, core::kMaxUnsteadyDelay);
}

}  // namespace

// Follows the member keys, and what members say of themselves.
void Checkers::NoteMember(const MemberFact& before, const MemberFact& after) {
  const bool doubtful = before.failing || after.failing || before.unhealthy || after.unhealthy;
  if (doubtful) eligible_at_ = world_.now();
  const bool goes_on = after.present && after.lease == before.lease;
  if (before.present && !goes_on) session_ends_[after.node].push_back(after.revision);
  if (!after.present) return;
  last_session_[after.node] = after.lease;
  if (after.Leaves()) leavers_.insert(after.lease);
}

void Checkers::NoteCame(const Process& process, Seen& seen) {
  const core::View& view = process.core().view();
  if (view.complete()) {
    const bool first = !std::exchange(seen.read, true);
    for (const auto& [node, stored] : members_) {
      const MemberFact* fact = view.member(node);
      Came& came = seen.came[node];
      const Revision known =
          fact != nullptr ? fact->revision : std::max(came.known, view.revision());
      if (known == came.known) continue;
      const bool here = fact != nullptr && fact->present;
      if (first) came.known = known;  // what was before, it does not know
      if (!NoteCame(node, came, here ? std::optional(fact->lease) : std::nullopt, known)) continue;
      came.from_start = came.from_start || first;
      came.idle = seen.idle;
    }
  }
  seen.idle = process.core().pending_writes() == 0;
}

// The process knows the node's key as of this revision now. If it heard of several ends of sessions
// at once, all but the first are of sessions that were over at once. If it read them, it may have
// missed them all. Returns whether there is anything new.
bool Checkers::NoteCame(const NodeId& node, Came& came, std::optional<SessionId> session,
                        Revision known) const {
  const auto ends = session_ends_.find(node);
  int ended = 0;
  if (ends != session_ends_.end()) {
    ended = static_cast<int>(std::count_if(
        ends->second.begin(), ends->second.end(),
        [&](Revision revision) { return revision > came.known && revision <= known; }));
  }
  came.known = known;
  const bool changed = came.session != session;
  if (!changed && ended == 0) return false;
  if (came.session) {
    const Duration most = std::max(core::kShortSession, StayAfter(came.short_at_most)) +
                          options_.ttl + kMoreThanAsked;
    const bool surely =
        !came.from_start && world_.now() - came.since < SurelyWithin(core::kShortSession);
    const bool perhaps = world_.now() - came.since_at_most < PerhapsWithin(most);
    const int again = (perhaps ? came.short_at_most + 1 : 0) + std::max(0, ended - 1);
    came.short_at_most = changed ? again : std::max(came.short_at_most, again);
    came.short_at_least = !surely ? 0 : came.short_at_least + (changed ? 1 : 0);
  } else {
    came.short_at_most += ended;
  }
  if (session) came.last = *session;
  came.session = session;
  came.since_at_most = world_.now();
  // A key that was deleted and put again unseen has the same session.
  if (changed) came.since = world_.now();
  if (changed) came.from_start = false;
  return true;
}

// Whether the process decided what it first sent then when it had seen the node come, or go. Of a
// write in several portions the last ones may be sent long after it was decided. And a process may
// hear of several changes, one after another, in the same instant.
bool Checkers::DecidedSince(const Seen& seen, const Came& came, TimePoint sent) {
  if (sent < came.since_at_most) return false;
  if (came.idle) return true;
  return seen.nothing_open > came.since_at_most && seen.nothing_open <= sent;
}

// A shard was claimed by a process that had seen so many members go in the settle time before that
// it had to wait. Each member counts once, as long as it is gone. Those that said that they leave
// don't count, nor do those that may have come and gone too often.
void Checkers::CheckBrake(ShardId shard, int origin) {
  const std::optional<TimePoint> sent = FirstSent(keyspace_.ShardKey(shard), origin);
  const auto seen = seen_.find(origin);
  if (!sent || seen == seen_.end()) return;
  const auto counts = [&](const auto& entry) {
    const auto& [node, came] = entry;
    if (came.session || came.last.value == 0 || came.short_at_most >= core::kFlapsAfter) {
      return false;
    }
    const bool lately = *sent - came.since < SurelyWithin(options_.settle);
    const auto last = last_session_.find(node);
    const bool saw_all = last != last_session_.end() && last->second == came.last;
    return lately && saw_all && !leavers_.contains(came.last) &&
           DecidedSince(seen->second, came, *sent);
  };
  const auto gone = std::count_if(seen->second.came.begin(), seen->second.came.end(), counts);
  if (gone <= kMayBeGone) return;
  Violation("I11", Text(shard) + " was claimed by process " + std::to_string(origin) +
                       ", which had just seen " + std::to_string(gone) + " members go");
}

// Whether those that are surely steady are no fewer than those that may not be. Otherwise nobody is
// kept from anything.
bool Checkers::Prevail(const Seen& seen, int origin, TimePoint sent) const {
  const core::View& view = Of(origin)->core().view();
  std::size_t steady = 0;
  std::size_t unsteady = 0;
  for (const auto& [node, came] : seen.came) {
    if (!DecidedSince(seen, came, sent) ||
        (came.session && came.short_at_most >= core::kFlapsAfter)) {
      ++unsteady;
      continue;
    }
    const MemberFact* fact = view.member(node);
    const bool eligible = fact != nullptr && fact->Live() && fact->weight > 0 &&
                          !view.Draining(*fact) && !fact->failing && !fact->unhealthy;
    steady += came.session && eligible ? 1 : 0;
  }
  return steady > 0 && steady >= unsteady;
}

// Nobody plans a move to a node that comes and goes again and again, and it claims nothing, until
// it has stayed for a while.
void Checkers::CheckUnsteady(const NodeId& node, const std::string& key, int origin) {
  const std::optional<TimePoint> sent = FirstSent(key, origin);
  const auto seen = seen_.find(origin);
  const Process* const process = Of(origin);
  if (!sent || seen == seen_.end() || process == nullptr || !process->alive()) return;
  const auto found = seen->second.came.find(node);
  if (found == seen->second.came.end() || !found->second.session) return;
  const Came& came = found->second;
  const Duration stay = StayAfter(came.short_at_least);
  if (!DecidedSince(seen->second, came, *sent) || *sent - came.since >= SurelyWithin(stay)) return;
  if (!Knew(origin, *sent, eligible_at_) || !Prevail(seen->second, origin, *sent)) return;
  const MemberFact* fact = process->core().view().member(node);
  if (fact == nullptr || !fact->Live() || process->core().view().Draining(*fact)) return;
  Violation("I11", key + " was given to " + node + ", whose last " +
                       std::to_string(came.short_at_least) +
                       " sessions were short, and which is back for " +
                       std::to_string((*sent - came.since) / milliseconds(1)) + " ms");
}

void Checkers::CheckMayGet(const NodeId& node, const std::string& key, int origin) {
  CheckNoSink(node, key, origin);
  CheckUnsteady(node, key, origin);
}

std::vector<TimePoint> Checkers::TakeClaims() {
  std::vector<TimePoint> claims = claims_.value_or(std::vector<TimePoint>{});
  claims_.reset();
  std::sort(claims.begin(), claims.end());
  return claims;
}

}  // namespace baton::sim
