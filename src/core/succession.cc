#include "core/succession.h"

#include <algorithm>
#include <utility>

#include "core/causes.h"
#include "core/may_claim.h"
#include "core/pools.h"

namespace baton::core {
namespace {

std::uint64_t Hash(const NodeId& a, const NodeId& b) {
  std::uint64_t hash = 14695981039346656037ull;  // FNV-1a: the same on every node
  for (const NodeId* part : {&a, &b}) {
    for (const char c : *part) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    hash = (hash ^ 0xff) * 1099511628211ull;
  }
  return hash;
}

Cause PassedOver(const NodeId& stalled) {
  return {.kind = CauseKind::kPassedOver, .detail = stalled};
}

}  // namespace

void Succession::Clear() {
  mine_.clear();
  taken_over_.clear();
  ReplaceOthers({});
  in_flight_.clear();
  claiming_.clear();
  outdated_ = true;
}

void Succession::Note(const ViewChanges& changes) {
  noted_.shards.insert(noted_.shards.end(), changes.shards.begin(), changes.shards.end());
  noted_.standbys.insert(noted_.standbys.end(), changes.standbys.begin(), changes.standbys.end());
  noted_.members = noted_.members || changes.members;
  noted_.policy = noted_.policy || changes.policy || changes.config;
  if (!changes.members && !changes.policy && !changes.config) return;
  pass_over_at_ = TimePoint::min();
  taken_over_.clear();
}

void Succession::Advance(Context& context, const Leaderships& leaderships) {
  NoteProgress(context);
  outdated_ = outdated_ || Outdated(context);
  noted_ = ViewChanges{};
  if (!context.live()) {
    braking_ = false;
    return ForgetOthers();
  }
  if (HeldBack(context)) return ForgetOthers();
  if (context.now < hold_until_) return context.WakeAt(hold_until_);
  if (outdated_ || context.now >= assign_again_at_) Assign(context, leaderships);
  context.WakeAt(assign_again_at_);
  PassOver(context);
  SubmitClaims(context);
}

bool Succession::HeldBack(Context& context) {
  const View& view = context.view;
  const bool free = view.complete() && !context.draining && context.attached() &&
                    // A bad config is being put back: claims would be refused.
                    view.config().revision == view.fitting_config().revision && Settled(context);
  if (free) return Brake(context);
  braking_ = false;
  return true;
}

// Cold start: while no record is in force, nobody claims before the membership has settled. So
// nodes that start together share the shards from the first claim on.
bool Succession::Settled(Context& context) {
  if (settled_) return true;
  const View& view = context.view;
  if (!first_complete_at_) first_complete_at_ = context.now;
  settled_ = view.vacancies() < view.shard_count();
  const std::size_t expected = context.options.expect_nodes;
  // 1 expects no number: otherwise the first node would claim everything.
  if (expected > 1 && view.LiveMembers() >= expected) settled_ = true;
  const TimePoint quiet_at =
      std::max(*first_complete_at_, view.membership_changed_at()) + context.options.settle;
  if (context.now >= quiet_at) settled_ = true;
  if (!settled_) context.WakeAt(quiet_at);
  return settled_;
}

// If more than max(2, 10 %) of the members vanish within a settle time, it may be a short network
// failure. A member counts once, as long as it is away, and not if it left in order or flaps.
bool Succession::Brake(Context& context) {
  const View& view = context.view;
  const TimePoint since = context.now - context.options.settle;
  const std::vector<TimePoint> gone = view.steadiness().GoneSince(since);
  const std::size_t vanished = gone.size();
  const bool brake = vanished > std::max<std::size_t>(2, (view.LiveMembers() + vanished) / 10);
  if (brake && !braking_) {
    context.Say(
        Notice::Level::kWarning,
        std::to_string(vanished) +
            " members vanished within the settle time; this node waits before it claims shards");
  }
  braking_ = brake;
  if (brake) context.WakeAt(gone.front() + context.options.settle);
  return brake;
}

// A change of members or policies, or of a vacancy that we are not claiming or of its standbys,
// makes the assignment outdated. Claims that succeed do not.
bool Succession::Outdated(const Context& context) const {
  if (noted_.members || noted_.policy) return true;
  const auto vacant = [&](ShardId shard) {
    return context.view.VacantSince(shard).has_value() && !claiming_.contains(shard);
  };
  return std::any_of(noted_.shards.begin(), noted_.shards.end(), vacant) ||
         std::any_of(noted_.standbys.begin(), noted_.standbys.end(), vacant);
}

void Succession::NoteProgress(const Context& context) {
  // A read may show leaderships that began long ago.
  const bool read = context.view.read_at() == context.now;
  std::size_t begun = 0;
  assigned_to_.resize(context.view.shard_count(), kToNobody);
  was_vacant_.resize(context.view.shard_count(), true);
  noted_term_.resize(context.view.shard_count());
  for (const ShardId shard : noted_.shards) {
    const RecordFact& record = context.view.record(shard);
    const bool vacant = !context.view.InForce(shard);
    const bool was_vacant = was_vacant_[shard.value];
    was_vacant_[shard.value] = vacant;
    if (vacant) continue;
    taken_over_.erase(shard);
    const bool began = std::exchange(noted_term_[shard.value], record.term()) != record.term();
    begun += began && !read ? 1 : 0;
    Assigned* const other = began ? AssignedTo(record.leader) : nullptr;
    if (other != nullptr) other->progress_at = context.now;
    std::uint32_t& holder = assigned_to_[shard.value];
    const bool expected = record.leader == context.self() ||
                          (holder != kToNobody && others_[holder].node == record.leader);
    if (holder != kToNobody) --others_[holder].left;
    holder = kToNobody;
    // Its leader divided other vacancies than we did, because waits had ended there or claims were
    // in flight. Without another look both might take a vacancy for the other's. A shard that was
    // only handed over was no vacancy.
    if (was_vacant && !expected)
      assign_again_at_ = std::min(assign_again_at_, context.now + kMinRetryPause);
  }
  pace_.NoteBegun(context, begun);
}

// This node's claims in flight count as held: otherwise vacancies that come meanwhile (their waits
// end one by one) would be divided as if the seats of these claims were still free.
void Succession::CountClaimsInFlight(const NodeId& self, AssignmentOfView& of_view) const {
  if (claiming_.empty()) return;
  AssignmentInput& input = of_view.input;
  const auto found =
      std::find_if(input.members.begin(), input.members.end(),
                   [&](const AssignmentMember& member) { return member.id == self; });
  if (found == input.members.end()) return;
  const auto index = static_cast<MemberIndex>(found - input.members.begin());
  for (std::size_t i = 0; i < input.shards.size(); ++i) {
    AssignmentShard& shard = input.shards[i];
    if (shard.vacant() && claiming_.contains(of_view.shard_of[i])) {
      shard = {.leader = index, .pool = shard.pool};
    }
  }
}

void Succession::Assign(Context& context, const Leaderships& leaderships) {
  outdated_ = false;
  assign_again_at_ = TimePoint::max();
  const bool idle = mine_.empty();
  mine_.clear();
  ClaimPace::Share share{.assigned = 0, .total = 0, .before = 0};
  std::vector<Assigned> others;
  if (context.view.vacancies() > 0) share = AssignVacancies(context, others);
  pace_.Assign(context, share, idle);
  ReplaceDamaged(context, leaderships);
  NoteAssigned(context, std::move(others), share.total);
}

// Gives this node its part of the vacancies, and says which fall to others.
ClaimPace::Share Succession::AssignVacancies(const Context& context,
                                             std::vector<Assigned>& others) {
  ++counters_.assignments;
  ClaimPace::Share share{.assigned = 0, .total = 0, .before = 0};
  AssignmentOfView of_view = AssignmentFrom(context.view, context.options.settle, context.now);
  CountClaimsInFlight(context.self(), of_view);
  const Assignment assignment = core::Assign(of_view.input);
  const auto& members = of_view.input.members;
  const ShardRules& rules = context.view.rules();
  const MemberFact* const self = context.view.member(context.self());
  for (const AssignmentMember& member : members) others.emplace_back().node = member.id;
  for (const PlannedClaim& claim : assignment.claims) {
    const ShardId shard = of_view.shard_of[claim.shard.value];
    if (claiming_.contains(shard)) continue;
    ++share.total;
    const auto stalled = taken_over_.find(shard);
    const bool taken_over = stalled != taken_over_.end();
    const bool ours = members[claim.to].id == context.self();
    if (!ours && !taken_over) {
      others[claim.to].shards.push_back(shard);
      continue;
    }
    ++share.assigned;
    // Its callback just exceeded its timeout here, and the only free seat is ours. The others see
    // no progress of ours, and the next in line takes it over.
    const AssignmentShard& entry = of_view.input.shards[claim.shard.value];
    const bool avoids = entry.avoids == claim.to;
    if (!taken_over && avoids && SomeChoice(of_view.input, entry.pool)) continue;
    mine_.push_back({shard, ours ? CauseOf(of_view.input, claim, {rules, shard, *self})
                                 : PassedOver(stalled->second)});
  }
  for (const Assigned& other : others) {
    if (other.node < context.self()) share.before += std::ssize(other.shards);
  }
  std::erase_if(others, [](const Assigned& other) { return other.shards.empty(); });
  const std::int64_t taken_back = TakeBack(of_view.to_take_back);
  share.assigned += taken_back;
  share.total += taken_back;
  assign_again_at_ = of_view.changes_at;
  return share;
}

// The group's failover policy or lock delay keeps these shards for this node.
std::int64_t Succession::TakeBack(const std::vector<ShardId>& shards) {
  std::int64_t taken = 0;
  for (const ShardId shard : shards) {
    if (claiming_.contains(shard)) continue;
    mine_.push_back({shard, {.kind = CauseKind::kTakenBack}});
    ++taken;
  }
  return taken;
}

// A last known leader that is this very session replaces the damaged record, once its `lost`
// returned.
void Succession::ReplaceDamaged(const Context& context, const Leaderships& leaderships) {
  const Duration settle = context.options.settle;
  for (const auto& [shard, damage] : context.view.damage()) {
    const Claimable claimable = ClaimableNow(context.view, shard, settle, context.now);
    if (claimable == Claimable::kByNobody) continue;
    assign_again_at_ = std::min(assign_again_at_, context.now + std::chrono::seconds(1));
    const auto& last = damage.last_leader;
    if (!last || last->node != context.self() || last->session != context.session.id()) continue;
    if (leaderships.stopping().Has(shard)) {
      outdated_ = true;  // the return of the callback steps the core again
    } else if (!claiming_.contains(shard)) {
      mine_.push_back({shard, {.kind = CauseKind::kDamagedRecord}});
    }
  }
}

Succession::Assigned* Succession::AssignedTo(const NodeId& node) {
  const auto found = std::lower_bound(
      others_.begin(), others_.end(), node,
      [](const Assigned& assigned, const NodeId& wanted) { return assigned.node < wanted; });
  return found != others_.end() && found->node == node ? &*found : nullptr;
}

void Succession::NoteAssigned(const Context& context, std::vector<Assigned> others,
                              std::int64_t total) {
  for (Assigned& other : others) {
    const ClaimPace::Share share{.assigned = std::ssize(other.shards), .total = total};
    const Assigned* const known = AssignedTo(other.node);
    const bool waited = known != nullptr && known->left > 0;
    other.progress_at = waited ? known->progress_at : context.now;
    other.patience = kPassOverAfter + pace_.LongestPause(context, share);
  }
  ReplaceOthers(std::move(others));
}

void Succession::ReplaceOthers(std::vector<Assigned> others) {
  for (const Assigned& other : others_) {
    for (const ShardId shard : other.shards) assigned_to_[shard.value] = kToNobody;
  }
  others_ = std::move(others);
  for (std::uint32_t i = 0; i < others_.size(); ++i) {
    others_[i].left = others_[i].shards.size();
    for (const ShardId shard : others_[i].shards) assigned_to_[shard.value] = i;
  }
  pass_over_at_ = TimePoint::min();
}

// The members that take over for others, unless they stall themselves.
Succession::Line Succession::LineOf(const Context& context) {
  Line line;
  const std::map<NodeId, TimePoint> resting = NodesThatGetNothing(context.view, context.now);
  for (const auto& [node, until] : resting) line.changes_at = std::min(line.changes_at, until);
  const Eligibility needed = EligibilityNeeded(context.view);
  for (const auto& [node, member] : context.view.members()) {
    if (EligibilityOf(context.view, member) != needed) continue;
    if (!resting.contains(node)) line.nodes.push_back(node);
  }
  return line;
}

// The k-th in line takes over after k periods, each twice as long as the one before. Nothing but
// time, members, policies and a new assignment make that come nearer.
void Succession::PassOver(Context& context) {
  if (context.now < pass_over_at_) return context.WakeAt(pass_over_at_);
  ++counters_.looks_at_others;
  pass_over_at_ = TimePoint::max();
  std::optional<Line> line;
  for (Assigned& assigned : others_) {
    if (assigned.left == 0) continue;
    TimePoint bound = assigned.progress_at + assigned.patience;
    Duration step = assigned.patience;
    std::size_t place = 0;
    while (context.now >= bound && place < 16) {
      ++place;
      step *= 2;
      bound += step;
    }
    if (context.now < bound) pass_over_at_ = std::min(pass_over_at_, bound);
    if (place == 0) continue;
    if (!line) line = LineOf(context);
    pass_over_at_ = std::min(pass_over_at_, line->changes_at);
    TakeOver(context, *line, place, assigned);
  }
  context.WakeAt(pass_over_at_);
}

// The ready standbys of a vacancy that may take over for the stalled node, in their order.
std::vector<NodeId> Succession::ReadyLine(const Context& context, const Line& line, ShardId shard,
                                          const NodeId& stalled) {
  if (context.view.standbys().empty()) return {};
  std::vector<NodeId> ready = context.view.StandbysOf(shard);
  std::erase_if(ready, [&](const NodeId& node) {
    const bool in_line = std::binary_search(line.nodes.begin(), line.nodes.end(), node);
    return node == stalled || !in_line || !context.view.member(node)->ReadyFor(shard);
  });
  return ready;
}

// Takes the shards for which this node is next in line. A shard's ready standbys come first. After
// them the line is the same for all shards, unless placement rules have a line of their own for
// some.
void Succession::TakeOver(const Context& context, const Line& line, std::size_t place,
                          Assigned& assigned) {
  const ShardRules& rules = context.view.rules();
  std::map<std::pair<std::size_t, std::size_t>, bool> next;  // by rule and place
  std::size_t taken = 0;
  for (const ShardId shard : assigned.shards) {
    std::uint32_t& holder = assigned_to_[shard.value];
    if (holder == kToNobody) continue;
    const std::vector<NodeId> ready = ReadyLine(context, line, shard, assigned.node);
    if (place <= ready.size()) {
      if (ready[place - 1] != context.self()) continue;
    } else {
      const std::size_t rule = rules.NumberOf(shard);
      const std::size_t later = place - ready.size();
      const auto [mine, unknown] = next.try_emplace({rule, later}, false);
      if (unknown) {
        const Line by_rule =
            rule < rules.size() ? LineFor(context, line, rule, assigned.node) : line;
        mine->second = NextInLine(by_rule, assigned.node, later) == context.self();
      }
      if (!mine->second) continue;
    }
    holder = kToNobody;
    ++taken;
    taken_over_.insert_or_assign(shard, assigned.node);
    if (!claiming_.contains(shard)) mine_.push_back({shard, PassedOver(assigned.node)});
  }
  pace_.TakeOver(taken);
  assigned.left -= taken;
}

// Those of the line that the rule wants first, without the stalled node.
Succession::Line Succession::LineFor(const Context& context, const Line& line, std::size_t rule,
                                     const NodeId& stalled) {
  std::vector<const MemberFact*> nodes;
  for (const NodeId& node : line.nodes) {
    if (node != stalled) nodes.push_back(context.view.member(node));
  }
  Line result;
  for (const MemberFact* node : FirstChoice(context.view.rules().placement()[rule], nodes)) {
    result.nodes.push_back(node->node);
  }
  return result;
}

NodeId Succession::NextInLine(const Line& line, const NodeId& stalled, std::size_t place) {
  std::vector<std::pair<std::uint64_t, const NodeId*>> by_hash;
  by_hash.reserve(line.nodes.size());
  for (const NodeId& node : line.nodes) {
    if (node != stalled) by_hash.emplace_back(Hash(stalled, node), &node);
  }
  if (by_hash.empty()) return {};
  const auto next = by_hash.begin() + static_cast<std::ptrdiff_t>((place - 1) % by_hash.size());
  std::nth_element(by_hash.begin(), next, by_hash.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : *a.second < *b.second;
  });
  return *next->second;
}

void Succession::SubmitClaims(Context& context) {
  while (!mine_.empty() && in_flight_.size() < kClaimBatchesInFlight) {
    const std::size_t allowed = pace_.Allowed(context, mine_.size());
    if (allowed == 0) return;
    ClaimBatch batch{.guard = context.session.guard(),
                     .config = context.view.fitting_config().revision,
                     .directory = context.options.self.directory,
                     .claims = {}};
    std::set<SessionRef> dead;
    std::vector<ShardId> shards;
    while (!mine_.empty() && shards.size() < allowed) {
      const ShardId shard = mine_.front().shard;
      const std::optional<Claim> claim = ClaimOf(context, mine_.front());
      if (!claim) {
        mine_.pop_front();
        continue;
      }
      const bool new_session = claim->dead && !dead.contains(*claim->dead);
      if (shards.size() >= MaxClaims(dead.size() + (new_session ? 1 : 0))) break;
      // it needs one more operation, so it goes into a batch of its own
      if (claim->quarantined && !shards.empty()) break;
      mine_.pop_front();
      if (claim->dead) dead.insert(*claim->dead);
      batch.claims.push_back(*claim);
      shards.push_back(shard);
      claiming_.insert(shard);
      if (claim->quarantined) break;
    }
    if (shards.empty()) return;
    pace_.Sent(context, shards.size());
    in_flight_.emplace(context.Submit(WriteOwner::kSuccession, std::move(batch)),
                       std::move(shards));
  }
}

// Nullopt if this node may not claim the shard any more.
std::optional<Claim> Succession::ClaimOf(const Context& context, Mine mine) const {
  const View& view = context.view;
  const ShardId shard = mine.shard;
  const RecordFact& record = view.record(shard);
  const Duration settle = context.options.settle;
  if (claiming_.contains(shard)) return std::nullopt;
  if (!MayClaim(view, shard, context.self(), settle, context.now)) return std::nullopt;
  Claim claim;
  claim.shard = shard;
  claim.cause = std::move(mine.cause);
  claim.tally = context.Tally(shard);
  if (!record.present) return claim;
  claim.read = record.revision;
  claim.unknown_fields = record.unknown_fields;
  if (record.readability == Readability::kDamaged) {
    claim.cause = {.kind = CauseKind::kDamagedRecord};
    claim.quarantined = record.damaged_value;
    const auto last = view.LastKnownLeader(shard);
    if (last) claim.previous = last->node;
    if (last && last->session != context.session.id()) claim.dead = *last;
    claim.reason = Reason::kOperator;
    return claim;
  }
  if (record.leader.empty()) {
    // a force-release leaves only `previous`
    claim.previous = record.resigned_by.empty() ? record.previous : record.resigned_by;
  } else {
    claim.previous = record.leader;
    claim.dead = SessionRef{record.leader, record.session};
  }
  claim.reason = VacancyReason(view, record);
  return claim;
}

void Succession::On(Context& context, OperationId operation, const Write& write,
                    const WriteResult& result) {
  const auto found = in_flight_.find(operation);
  if (found == in_flight_.end()) return;
  const auto& batch = std::get<ClaimBatch>(write);
  bool still_vacant = false;
  for (std::size_t i = 0; i < batch.claims.size(); ++i) {
    const ShardId shard = *batch.claims[i].shard;
    claiming_.erase(shard);
    if (context.view.VacantSince(shard)) still_vacant = true;
  }
  in_flight_.erase(found);
  if (!still_vacant) {
    hold_ = kMinRetryPause;
    return;
  }
  // Refused, and nobody leads: our view of a session is ahead of etcd's or behind it. Assign again
  // after a backoff.
  outdated_ = true;
  hold_until_ = context.now + hold_;
  hold_ = std::min(2 * hold_, kMaxRetryPause);
  context.WakeAt(hold_until_);
  if (!result.detail.empty())
    context.Say(Notice::Level::kWarning, "a claim was refused: " + result.detail);
}

}  // namespace baton::core
