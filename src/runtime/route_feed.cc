#include "runtime/route_feed.h"

#include <algorithm>
#include <utility>

namespace baton::runtime {
namespace {

Revision MemberRevision(const core::View& view, const NodeId& node) {
  const MemberFact* const member = view.member(node);
  return member == nullptr ? Revision{} : member->revision;
}

/// The newest revision among the facts behind the shard's route.
Revision FactsOf(const core::View& view, const ShardStatus& status) {
  const RecordFact& record = view.record(status.shard);
  Revision newest = std::max(
      {record.revision, view.move_revision(status.shard), MemberRevision(view, record.leader)});
  if (status.standbys == nullptr) return newest;
  for (const StandbyStatus& standby : *status.standbys) {
    newest = std::max(newest, MemberRevision(view, standby.node));
  }
  return newest;
}

/// Only a move in etcd makes a route moving: its end has a revision. A leader may give a shard away
/// without a move, or after its move was withdrawn, and lead on. No revision tells of that, so a
/// router that reconnects meanwhile would never hear of the end.
ShardState StateOf(const ShardStatus& status) {
  const bool without_move = status.state == ShardState::kMoving && status.move == nullptr;
  return without_move ? ShardState::kLed : status.state;
}

bool SameStandbys(const ViewRoute& one, const ViewRoute& other) {
  if (one.standbys == nullptr || other.standbys == nullptr) return one.standbys == other.standbys;
  return *one.standbys == *other.standbys;
}

bool HasStandby(const ViewRoute& route, const NodeId& node) {
  return route.standbys != nullptr &&
         std::any_of(route.standbys->begin(), route.standbys->end(),
                     [&](const ViewStandby& standby) { return standby.node->node == node; });
}

}  // namespace

std::uint64_t StoreIncarnationOf(std::uint64_t cluster, Revision config) {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;  // odd: each revision gives another number
  if (cluster == 0) return 0;
  const std::uint64_t mixed = cluster + kSpread * static_cast<std::uint64_t>(config.value);
  return mixed == 0 ? 1 : mixed;
}

RouteFeed::RouteFeed(RouteSource source, RouteGroup group)
    : source_(std::move(source)),
      group_(std::make_shared<RouteGroup>(std::move(group))),
      dirty_flag_(group_->shards, false) {}

void RouteFeed::Add(std::shared_ptr<RouteObserver> observer) {
  if (closed_) return observer->OnRoutesEnded(*closed_);
  fresh_.push_back(std::move(observer));
  Arm(Duration{0});
}

void RouteFeed::SetStoreIncarnation(std::uint64_t incarnation) {
  if (group_->incarnation == incarnation) return;
  RouteGroup group = *group_;
  group.incarnation = incarnation;
  group_ = std::make_shared<RouteGroup>(std::move(group));
}

void RouteFeed::Note(ShardId shard) {
  Mark(shard);
  ArmForDirty();
}

void RouteFeed::Note(const core::ViewChanges& changes) {
  for (const ShardId shard : changes.shards) Mark(shard);
  for (const ShardId shard : changes.standbys) Mark(shard);
  for (const NodeId& node : changes.changed_members) NoteMember(node);
  ForgetMembers();
  ArmForDirty();
}

void RouteFeed::Mark(ShardId shard) {
  if (dirty_flag_[shard.value]) return;
  dirty_flag_[shard.value] = true;
  dirty_.push_back(shard);
}

void RouteFeed::ArmForDirty() {
  if (!dirty_.empty()) Arm(kEvery - (source_.clock.Now() - flushed_at_));
}

// The view's ViewChanges has the shards whose leader's lease came or went, and those that a node
// begins or ends to stand by for. Changed addresses and moves to a changed member are found here.
void RouteFeed::NoteMember(const NodeId& node) {
  const core::View& view = source_.view;
  const MemberFact* const member = view.member(node);  // null: a snapshot showed that it is gone
  Seen now;
  if (member != nullptr) now = {member->service_address, member->Live(), member->lease};
  Seen& before = seen_[node];
  if (before == now) return;
  if (before.address != now.address) {
    view.leaders().ForEachOf(node, [this](ShardId shard) { Mark(shard); });
    // A node without a session stands by for nothing.
    if (before.live && now.live) MarkThoseOfStandby(node);
  }
  before = std::move(now);
  for (const auto& [shard, move] : view.moves()) {
    if (move.to == node) Mark(shard);
  }
}

// The table has the routes as they were sent. A route that has the standby only since then was
// marked when the standby began.
void RouteFeed::MarkThoseOfStandby(const NodeId& node) {
  if (with_standbys_ == 0) return;
  for (const ViewRoute& route : table_) {
    if (HasStandby(route, node)) Mark(route.shard);
  }
}

void RouteFeed::ForgetMembers() {
  const core::View& view = source_.view;
  if (seen_.size() <= view.members().size()) return;
  const auto forgotten = [&](const auto& entry) { return view.member(entry.first) == nullptr; };
  std::erase_if(seen_, forgotten);
  std::erase_if(nodes_, forgotten);
}

void RouteFeed::NoteProof() {
  if (source_.view.revision() == told_revision_ && source_.proven_at() == told_proof_) return;
  Arm(kProofWithin);
}

// An earlier need schedules another timer. The later timer still fires, but finds nothing due.
void RouteFeed::Arm(Duration delay) {
  delay = std::max(delay, Duration{0});
  const TimePoint at = source_.clock.Now() + delay;
  if (closed_ || at >= due_) return;
  due_ = at;
  source_.executor.Schedule(delay, [weak = weak_from_this(), at] {
    const auto feed = weak.lock();
    if (feed == nullptr || feed->closed_ || feed->due_ != at) return;
    feed->due_ = TimePoint::max();
    feed->Flush();
  });
}

void RouteFeed::Flush() {
  const core::View& view = source_.view;
  if (!view.complete()) return;
  std::vector<ViewRoute> changed;
  if (table_.empty()) {
    table_.resize(group_->shards);
    for (const auto& [node, member] : view.members()) NoteMember(node);
    for (std::uint32_t s = 0; s < group_->shards; ++s) {
      table_[s].shard = ShardId{s};
      Look(ShardId{s}, &changed);
    }
  } else {
    std::sort(dirty_.begin(), dirty_.end());
    for (const ShardId shard : dirty_) Look(shard, &changed);
  }
  for (const ShardId shard : dirty_) dirty_flag_[shard.value] = false;
  dirty_.clear();
  flushed_at_ = source_.clock.Now();
  const bool news =
      !changed.empty() || view.revision() != told_revision_ || source_.proven_at() != told_proof_;
  told_revision_ = view.revision();
  told_proof_ = source_.proven_at();
  if (news && !observers_.empty()) {
    const RouteBatch batch = Batch(std::move(changed));
    for (const auto& observer : observers_) observer->OnRoutes(batch);
  }
  if (fresh_.empty()) return;
  const RouteBatch all = Batch(table_);
  for (auto& observer : fresh_) {
    observer->OnRoutes(all);
    observers_.push_back(std::move(observer));
  }
  fresh_.clear();
}

// A route whose facts are newer counts as changed even if it looks the same: another server's view
// may have told a different route in between.
void RouteFeed::Look(ShardId shard, std::vector<ViewRoute>* changed) {
  ViewRoute& known = table_[shard.value];
  const ShardStatus status = source_.shard(shard);
  const Revision facts = FactsOf(source_.view, status);
  ViewRoute now{.shard = shard,
                .leader = Intern(status.leader, status.address),
                .term = status.term,
                .state = StateOf(status),
                .revision = std::max({known.revision, facts, source_.view.revision()}),
                .standbys = StandbysOf(status)};
  const bool same = now.leader == known.leader && now.term == known.term &&
                    now.state == known.state && SameStandbys(now, known) && facts <= known.revision;
  if (same && known.revision.value != 0) return;
  with_standbys_ += now.standbys != nullptr ? 1 : 0;
  with_standbys_ -= known.standbys != nullptr ? 1 : 0;
  known = now;
  changed->push_back(std::move(now));
}

std::shared_ptr<const RouteNode> RouteFeed::Intern(const NodeId& node, const std::string& address) {
  if (node.empty()) return nullptr;
  auto& known = nodes_[node];
  if (known == nullptr || known->address != address) {
    known = std::make_shared<RouteNode>(RouteNode{node, address});
  }
  return known;
}

std::shared_ptr<const std::vector<ViewStandby>> RouteFeed::StandbysOf(const ShardStatus& status) {
  if (status.standbys == nullptr || status.standbys->empty()) return nullptr;
  auto standbys = std::make_shared<std::vector<ViewStandby>>();
  standbys->reserve(status.standbys->size());
  for (const StandbyStatus& each : *status.standbys) {
    standbys->push_back({Intern(each.node, each.address), each.ready});
  }
  return standbys;
}

RouteBatch RouteFeed::Batch(std::vector<ViewRoute> routes) const {
  return {.group = group_,
          .routes = std::move(routes),
          .revision = source_.view.revision(),
          .proven_at = source_.proven_at(),
          .stale_after = source_.stale_after()};
}

void RouteFeed::Close(const Error& why) {
  if (closed_) return;
  closed_ = why;
  for (const auto& observer : fresh_) observer->OnRoutesEnded(why);
  for (const auto& observer : observers_) observer->OnRoutesEnded(why);
  fresh_.clear();
  observers_.clear();
}

}  // namespace baton::runtime
