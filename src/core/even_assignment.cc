// Computes the assignment in steps, each a function of the view alone: the targets, the seats that
// vacancies fill, and which member fills which vacancy.
//
// Why it is self-consistent:
//  - A claim goes to a member below its target, and changes no tie for a target (see ShareOut).
//  - Seats have a fixed order (the load after taking it, then the id), and a claim takes the first
//    seat that its member has left. So the other seats stay chosen.
//  - The matching of vacancies to seats is the best one in a total order, whose terms each depend
//    on one vacancy and its claimer only (see VacancyFiller). A better rest would have made a
//    better whole.
#include "core/even_assignment.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

#include "base/check.h"
#include "core/may_claim.h"

namespace baton::core {
namespace {

using Counts = std::vector<std::uint32_t>;  // by member index

struct Candidates {
  std::vector<MemberIndex> by_id;
  /// all candidates are draining: they keep leading, and nothing moves
  bool draining_only = false;
};

std::vector<MemberIndex> SortedById(const std::vector<AssignmentMember>& members) {
  std::vector<MemberIndex> by_id(members.size());
  std::iota(by_id.begin(), by_id.end(), MemberIndex{0});
  std::sort(by_id.begin(), by_id.end(),
            [&](MemberIndex a, MemberIndex b) { return members[a].id < members[b].id; });
  const auto same = [&](MemberIndex a, MemberIndex b) { return members[a].id == members[b].id; };
  BATON_CHECK(std::adjacent_find(by_id.begin(), by_id.end(), same) == by_id.end());
  return by_id;
}

Candidates FindCandidates(const AssignmentInput& input) {
  const std::vector<MemberIndex> all = SortedById(input.members);
  for (const Eligibility wanted : {Eligibility::kYes, Eligibility::kLastResort}) {
    Candidates found{.by_id = {}, .draining_only = wanted == Eligibility::kLastResort};
    for (const MemberIndex member : all) {
      const AssignmentMember& m = input.members[member];
      if (EligibilityOf(m.weight, m.draining) == wanted) found.by_id.push_back(member);
    }
    if (!found.by_id.empty()) return found;
  }
  return {};
}

Counts CountHeld(const AssignmentInput& input) {
  Counts held(input.members.size(), 0);
  for (MemberIndex m = 0; m < held.size(); ++m) held[m] = input.members[m].elsewhere;
  for (const AssignmentShard& shard : input.shards) {
    if (shard.leader == kNobody) continue;
    const MemberIndex holder = shard.moving_to == kNobody ? shard.leader : shard.moving_to;
    BATON_CHECK(shard.leader < held.size() && holder < held.size());
    ++held[holder];
  }
  return held;
}

// The member that a vacancy prefers; none if it also avoids one.
MemberIndex Preferred(const AssignmentShard& shard) {
  return shard.avoids == kNobody ? shard.prefers : kNobody;
}

struct Vacancies {
  std::vector<PlannedClaim> claims;  ///< by shard number, still without claimers
  Counts preferring;                 ///< by the member they prefer
  bool any_preferring = false;
};

Vacancies FindVacancies(const AssignmentInput& input) {
  Vacancies found{.claims = {}, .preferring = Counts(input.members.size(), 0)};
  for (std::uint32_t s = 0; s < input.shards.size(); ++s) {
    if (!input.shards[s].vacant()) continue;
    found.claims.push_back({ShardId{s}, kNobody});
    const MemberIndex preferred = Preferred(input.shards[s]);
    if (preferred == kNobody) continue;
    BATON_CHECK(preferred < found.preferring.size());
    ++found.preferring[preferred];
    found.any_preferring = true;
  }
  return found;
}

// Gives each member its share of `total` by largest remainders. If remainders are equal, members
// that hold more than their floor come first, so that neither a succession nor its repetition makes
// a move necessary. Next come those that will hold more once the vacancies in `returning` come back
// to them; then the lowest id.
Counts ShareOutAmong(const AssignmentInput& input, const std::vector<MemberIndex>& by_id,
                     std::uint64_t total, const Counts& held, const Counts& returning) {
  Counts target(input.members.size(), 0);
  std::uint64_t weights = 0;
  for (const MemberIndex m : by_id) weights += input.members[m].weight;

  struct Remainder {
    std::uint64_t size;
    int claim;  ///< 2: holds more than its floor; 1: will with the returning vacancies; 0: neither
    MemberIndex member;
  };
  std::vector<Remainder> remainders;
  remainders.reserve(by_id.size());
  std::uint64_t left = total;
  for (const MemberIndex m : by_id) {
    const std::uint64_t share = total * input.members[m].weight;
    const std::uint64_t floor = share / weights;
    target[m] = static_cast<std::uint32_t>(floor);
    left -= floor;
    const int claim = held[m] > floor ? 2 : std::uint64_t{held[m]} + returning[m] > floor ? 1 : 0;
    remainders.push_back({share % weights, claim, m});
  }
  if (left == 0) return target;
  BATON_CHECK(left < remainders.size());
  std::stable_sort(remainders.begin(), remainders.end(), [](const auto& a, const auto& b) {
    return a.size != b.size ? a.size > b.size : a.claim > b.claim;
  });
  for (std::uint64_t i = 0; i < left; ++i) ++target[remainders[i].member];
  return target;
}

// The targets, with what members hold elsewhere. A member that holds more elsewhere than its share
// keeps just that, and the others share the rest.
Counts ShareOut(const AssignmentInput& input, const Candidates& candidates, const Counts& held,
                const Counts& returning) {
  std::vector<MemberIndex> sharing = candidates.by_id;
  std::uint64_t total = input.shards.size();
  for (const MemberIndex m : sharing) total += input.members[m].elsewhere;
  std::vector<MemberIndex> full;
  while (true) {
    Counts target = ShareOutAmong(input, sharing, total, held, returning);
    const auto is_full = [&](MemberIndex m) { return input.members[m].elsewhere > target[m]; };
    const auto first_full = std::stable_partition(sharing.begin(), sharing.end(),
                                                  [&](MemberIndex m) { return !is_full(m); });
    const bool settled = first_full == sharing.end();
    for (auto m = first_full; m != sharing.end(); ++m) total -= input.members[*m].elsewhere;
    full.insert(full.end(), first_full, sharing.end());
    sharing.erase(first_full, sharing.end());
    if (!settled && !sharing.empty()) continue;
    for (const MemberIndex m : full) target[m] = input.members[m].elsewhere;
    return target;
  }
}

struct FreeSeats {
  Counts by_member;
  std::uint64_t total = 0;
};

FreeSeats CountFree(const Candidates& candidates, const Counts& target, const Counts& held) {
  FreeSeats free{.by_member = Counts(target.size(), 0)};
  for (const MemberIndex m : candidates.by_id) {
    if (held[m] >= target[m]) continue;
    free.by_member[m] = target[m] - held[m];
    free.total += free.by_member[m];
  }
  return free;
}

// A member's next seat, ordered by the load it would have after taking it, then by id.
struct NextSeat {
  std::uint64_t load;  ///< held + i, with i counting from 1
  std::uint64_t weight;
  std::size_t rank;  ///< position of its id among the candidates
  friend bool operator<(const NextSeat& a, const NextSeat& b) {
    const std::uint64_t left = a.load * b.weight;
    const std::uint64_t right = b.load * a.weight;
    return left != right ? left < right : a.rank < b.rank;
  }
  friend bool operator>(const NextSeat& a, const NextSeat& b) { return b < a; }
};

// Returns the members of the first `count` free seats, in the order of the seats. REQUIRES: at
// least `count` seats are free.
std::vector<MemberIndex> FirstSeats(const AssignmentInput& input, const Candidates& candidates,
                                    const Counts& held, const FreeSeats& free, std::size_t count) {
  BATON_CHECK(count <= free.total);
  std::vector<NextSeat> next;
  for (std::size_t rank = 0; rank < candidates.by_id.size(); ++rank) {
    const MemberIndex m = candidates.by_id[rank];
    if (free.by_member[m] > 0) next.push_back({held[m] + 1ULL, input.members[m].weight, rank});
  }
  std::priority_queue seats(std::greater<NextSeat>{}, std::move(next));
  Counts left = free.by_member;
  std::vector<MemberIndex> taken;
  taken.reserve(count);
  while (taken.size() < count) {
    NextSeat seat = seats.top();
    seats.pop();
    const MemberIndex m = candidates.by_id[seat.rank];
    taken.push_back(m);
    ++seat.load;
    if (--left[m] > 0) seats.push(seat);
  }
  return taken;
}

// Steps 1 and 2. A node that restarts counts as holding what it led; otherwise its leftover seat
// might go to a member of lower id. This counts only if the vacancies fill all free seats: a node
// that gets fewer seats than it has free would lose the tie when others claim what it had led. The
// outcome of ties does not change how many seats are free; and a claim does not change whether the
// vacancies fill all of them.
Counts FindTargets(const AssignmentInput& input, const Candidates& candidates, const Counts& held,
                   const Vacancies& vacancies) {
  Counts target = ShareOut(input, candidates, held, Counts(held.size(), 0));
  if (!vacancies.any_preferring) return target;
  if (CountFree(candidates, target, held).total != vacancies.claims.size()) return target;
  return ShareOut(input, candidates, held, vacancies.preferring);
}

// Step 3: chooses as many seats as there are vacancies; counts them by member.
Counts SeatsForVacancies(const AssignmentInput& input, const Candidates& candidates,
                         const Assignment& assignment, std::size_t vacancies) {
  FreeSeats free = CountFree(candidates, assignment.target, assignment.held);
  if (free.total == vacancies) return std::move(free.by_member);
  Counts seats(input.members.size(), 0);
  for (const MemberIndex m : FirstSeats(input, candidates, assignment.held, free, vacancies)) {
    ++seats[m];
  }
  return seats;
}

// Step 4: decides who fills which vacancy. Of all ways to fill the seats it finds the one that
//  1. by shard number, gives the most vacancies to the member that each prefers,
//  2. then gives the fewest of the others to the member that each avoids,
//  3. then, by shard number, takes the claimers of lowest id: contiguous blocks.
//
// It does 1 first, then goes through the rest in the order of 3 and uses a count to keep 2
// possible. By Hall's theorem: for a member x, at least avoiding(x) + seats(x) minus open vacancies
// (if that is positive) must go to x although they avoid it; at most one member has a positive
// number. If the number is 0 or more, each vacancy that does not avoid x has to take one of x's
// seats.
class VacancyFiller {
 public:
  // REQUIRES: there are as many seats as vacancies.
  VacancyFiller(const AssignmentInput& input, const Candidates& candidates, Counts seats,
                std::vector<PlannedClaim> vacancies)
      : input_(input),
        by_id_(candidates.by_id),
        seats_(std::move(seats)),
        avoiding_(seats_.size(), 0),
        vacancies_(std::move(vacancies)),
        open_(vacancies_.size()) {
    BATON_CHECK(std::accumulate(seats_.begin(), seats_.end(), std::size_t{0}) == open_);
    CountAvoiding();
  }

  std::vector<PlannedClaim> Fill() && {
    for (PlannedClaim& vacancy : vacancies_) {
      const MemberIndex preferred = Preferred(input_.shards[vacancy.shard.value]);
      if (preferred != kNobody && seats_[preferred] > 0) Take(vacancy, preferred);
    }
    for (PlannedClaim& vacancy : vacancies_) {
      if (vacancy.to == kNobody) Take(vacancy, FirstFor(Avoided(vacancy.shard)));
    }
    return std::move(vacancies_);
  }

 private:
  // A member for which the number above is 0 or more.
  struct Tight {
    MemberIndex member;
    bool short_of_others;  ///< more than 0: some vacancy has to go to it although it avoids it
  };

  MemberIndex Avoided(ShardId shard) const { return input_.shards[shard.value].avoids; }

  void CountAvoiding() {
    for (const PlannedClaim& vacancy : vacancies_) {
      const MemberIndex avoided = Avoided(vacancy.shard);
      if (avoided == kNobody) continue;
      BATON_CHECK(avoided < avoiding_.size());
      ++avoiding_[avoided];
    }
    for (MemberIndex m = 0; m < avoiding_.size(); ++m) {
      if (avoiding_[m] > 0) pressure_.push({Pressure(m), m});
    }
  }

  std::size_t Pressure(MemberIndex m) const { return std::size_t{avoiding_[m]} + seats_[m]; }

  // Pressures never rise, so queued values are upper bounds; they are updated only when they
  // matter.
  std::optional<Tight> FindTight() {
    while (!pressure_.empty() && pressure_.top().first >= open_) {
      const auto [pressure, member] = pressure_.top();
      const std::size_t now = Pressure(member);
      if (now == pressure) return Tight{member, now > open_};
      pressure_.pop();
      if (avoiding_[member] > 0) pressure_.push({now, member});
    }
    return std::nullopt;
  }

  // The member of lowest id that may take a vacancy which avoids `avoided`.
  MemberIndex FirstFor(MemberIndex avoided) {
    const std::optional<Tight> tight = FindTight();
    if (tight && tight->member != avoided) return tight->member;
    SkipFullMembers();
    const MemberIndex first = by_id_[first_];
    const bool has_to = tight && tight->short_of_others;
    if (first != avoided || has_to) return first;
    BATON_CHECK(second_ < by_id_.size());
    return by_id_[second_];
  }

  void SkipFullMembers() {
    while (seats_[by_id_[first_]] == 0) ++first_;
    second_ = std::max(second_, first_ + 1);
    while (second_ < by_id_.size() && seats_[by_id_[second_]] == 0) ++second_;
  }

  void Take(PlannedClaim& vacancy, MemberIndex member) {
    BATON_CHECK(seats_[member] > 0 && open_ > 0);
    vacancy.to = member;
    --seats_[member];
    --open_;
    const MemberIndex avoided = Avoided(vacancy.shard);
    if (avoided != kNobody) --avoiding_[avoided];
  }

  const AssignmentInput& input_;
  const std::vector<MemberIndex>& by_id_;
  Counts seats_;                         // left, by member
  Counts avoiding_;                      // vacancies without a claimer that avoid it, by member
  std::vector<PlannedClaim> vacancies_;  // by shard number
  std::size_t open_ = 0;                 // vacancies without a claimer; as many seats are left
  std::priority_queue<std::pair<std::size_t, MemberIndex>> pressure_;
  std::size_t first_ = 0;  // positions in by_id_ of the first two members with seats left
  std::size_t second_ = 1;
};

Assignment AssignAmong(const AssignmentInput& input, const Candidates& candidates) {
  Assignment assignment;
  assignment.target.resize(input.members.size(), 0);
  assignment.held = CountHeld(input);
  if (candidates.by_id.empty()) return assignment;
  Vacancies vacancies = FindVacancies(input);
  assignment.target = FindTargets(input, candidates, assignment.held, vacancies);
  Counts seats = SeatsForVacancies(input, candidates, assignment, vacancies.claims.size());
  assignment.claims =
      VacancyFiller(input, candidates, std::move(seats), std::move(vacancies.claims)).Fill();
  return assignment;
}

// A member that holds more than its target, and its surplus shards of lowest number.
struct Donor {
  MemberIndex member = kNobody;
  std::vector<ShardId> shards;
};

bool IsUrgent(const AssignmentMember& member) { return member.draining || member.forbidden; }

std::vector<Donor> FindDonors(const AssignmentInput& input, const std::vector<bool>& movable,
                              const Counts& target, const Counts& held) {
  std::vector<Donor> donors(input.members.size());
  for (std::uint32_t s = 0; s < input.shards.size(); ++s) {
    const AssignmentShard& shard = input.shards[s];
    if (shard.leader == kNobody || shard.moving_to != kNobody) continue;
    if (!movable.empty() && !movable[s]) continue;
    const MemberIndex m = shard.leader;
    if (held[m] > target[m] && donors[m].shards.size() < held[m] - target[m]) {
      donors[m].member = m;
      donors[m].shards.push_back(ShardId{s});
    }
  }
  std::erase_if(donors, [](const Donor& donor) { return donor.shards.empty(); });
  const auto& members = input.members;
  std::sort(donors.begin(), donors.end(), [&](const Donor& a, const Donor& b) {
    const bool a_urgent = IsUrgent(members[a.member]);
    const bool b_urgent = IsUrgent(members[b.member]);
    return a_urgent != b_urgent ? a_urgent : members[a.member].id < members[b.member].id;
  });
  return donors;
}

// Orders the moves: urgent ones first, then each donor in turn.
std::vector<PlannedMove> TakeInTurn(const AssignmentInput& input,
                                    const std::vector<Donor>& donors) {
  struct Turn {
    std::size_t number;
    PlannedMove move;
  };
  std::vector<Turn> turns;
  for (const Donor& donor : donors) {
    const AssignmentMember& member = input.members[donor.member];
    const Reason reason = member.draining ? Reason::kDrain : Reason::kRebalance;
    for (std::size_t i = 0; i < donor.shards.size(); ++i) {
      turns.push_back({i,
                       {.shard = donor.shards[i],
                        .from = donor.member,
                        .reason = reason,
                        .urgent = IsUrgent(member)}});
    }
  }
  std::stable_sort(turns.begin(), turns.end(), [](const Turn& a, const Turn& b) {
    return a.move.urgent != b.move.urgent ? a.move.urgent : a.number < b.number;
  });
  std::vector<PlannedMove> moves;
  moves.reserve(turns.size());
  for (const Turn& turn : turns) moves.push_back(turn.move);
  return moves;
}

}  // namespace

Assignment AssignEvenly(const AssignmentInput& input) {
  return AssignAmong(input, FindCandidates(input));
}

std::vector<PlannedMove> PlanEvenMoves(const AssignmentInput& input,
                                       const std::vector<bool>& movable, std::size_t limit) {
  BATON_CHECK(movable.empty() || movable.size() == input.shards.size());
  const Candidates candidates = FindCandidates(input);
  if (candidates.by_id.empty() || candidates.draining_only) return {};
  const Assignment assignment = AssignAmong(input, candidates);
  // Seats that vacancies are about to fill are not free for moves.
  Counts held = assignment.held;
  for (const PlannedClaim& claim : assignment.claims) ++held[claim.to];

  const std::vector<Donor> donors = FindDonors(input, movable, assignment.target, held);
  std::vector<PlannedMove> moves = TakeInTurn(input, donors);
  if (moves.size() > limit) moves.resize(limit);
  const FreeSeats free = CountFree(candidates, assignment.target, held);
  const std::vector<MemberIndex> receivers =
      FirstSeats(input, candidates, held, free, moves.size());
  for (std::size_t i = 0; i < moves.size(); ++i) moves[i].to = receivers[i];
  return moves;
}

}  // namespace baton::core
