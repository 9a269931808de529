#include "runtime/group_follower.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "baton/version.h"
#include "core/group_change.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kRecentShown = 256;
constexpr std::size_t kLongestOrder = 256;
constexpr Duration kStatusAge = std::chrono::milliseconds(50);

/// For how long a status is shared that took `cost` to make.
Duration SharedFor(Duration cost) {
  constexpr Duration longest = GroupFollower::kLongestStatusAge;
  if (cost > longest / GroupFollower::kStatusPause) return longest;  // the product may overflow
  return std::max(kStatusAge, cost * GroupFollower::kStatusPause);
}

/// The etcd revision at which the transition happened.
Revision RevisionOf(const core::View& view, const Transition& transition) {
  const bool began = !transition.to.empty() && transition.reason != Reason::kResumed;
  return began ? Revision{transition.term.value} : view.revision();
}

}  // namespace

GroupFollower::GroupFollower(FollowerParts parts, Owner& owner)
    : parts_(std::move(parts)), owner_(owner) {
  auto& executor = parts_.executor;
  etcd::CursorExecutor on_loop{
      .post = [&executor](auto function) { executor.Post(std::move(function)); },
      .schedule = [&executor](Duration delay,
                              auto function) { executor.Schedule(delay, std::move(function)); }};
  etcd::WatchCursorOptions cursor_options;
  cursor_options.jitter = [random = parts_.random](Duration delay) {
    const auto range = static_cast<std::uint64_t>(std::max<Duration::rep>(1, delay.count() / 4));
    return delay + Duration(static_cast<Duration::rep>(random() % range));
  };
  etcd::WatchCursorHandler handler;
  handler.reading = [this] { read_begun_ = parts_.clock.Now(); };
  handler.snapshot = [this](Snapshot snapshot, std::uint64_t cluster) {
    if (std::exchange(cluster_, cluster) != cluster) {
      orders_seen_.reset();
      settings_seen_.reset();
    }
    // Linearizable reads: the view was current when they began.
    proven_at_ = std::max(proven_at_, read_begun_);
    snapshot.wall = parts_.clock.WallNow();
    NoteOrders(snapshot.facts);
    owner_.OnSnapshot(std::move(snapshot), cluster);
  };
  handler.changes = [this](Changes changes, std::uint64_t cluster) {
    NoteOrders(changes.facts);
    owner_.OnChanges(std::move(changes), cluster);
  };
  handler.delivered = [this](Revision revision) { owner_.OnReached(revision); };
  handler.trouble = [this](const std::string& detail) {
    if (IsNewTrouble(detail)) parts_.log.Warn("watch: " + detail);
  };
  cursor_ = std::make_unique<etcd::WatchCursor>(
      parts_.transport, parts_.keyspace, std::move(on_loop), cursor_options, std::move(handler));
}

void GroupFollower::Start() {
  cursor_->Start();
  heartbeat_at_ = parts_.clock.Now() + kHeartbeatEvery;
}

void GroupFollower::Close(const Error& why) {
  if (cursor_ != nullptr) watched_ = cursor_->counts();
  cursor_.reset();
  EndRoutes(why);
  if (parts_.history != nullptr) parts_.history->Close();
}

void GroupFollower::Halt(const Error& why, const Error& ended) {
  if (halted_) return;
  halted_ = why;
  ForgetStatus();
  parts_.log.Error("halted: " + why.message);
  if (on_halted_) on_halted_(why);
  EndRoutes(ended);
  for (const auto& observer : observers_) observer->OnHalted(why);
}

// ---- the proof that the view is current --------------------------------------------------------

void GroupFollower::Prove(Revision revision, TimePoint asked) {
  if (!proof_) proof_ = Proof{revision, asked};
}

void GroupFollower::AskRevision(std::chrono::milliseconds deadline, RevisionHandler answered) {
  etcdserverpb::RangeRequest request;
  request.set_key(parts_.keyspace.ConfigKey());
  request.set_count_only(true);
  parts_.transport.Range(
      request, deadline,
      [answered = std::move(answered)](const etcd::Reply<etcdserverpb::RangeResponse>& reply) {
        const auto& header = reply.response.header();
        if (reply.status.ok()) answered(Revision{header.revision()}, header.cluster_id());
      });
}

void GroupFollower::Followed(const core::ViewChanges& changed, Revision reached) {
  if (proof_ && reached >= proof_->revision) {
    proven_at_ = std::max(proven_at_, proof_->asked);
    proof_.reset();
  }
  const core::View* const view = owner_.FollowedView();
  if (view == nullptr) return;
  board_.Note(*view, changed);
  if (routes_ == nullptr) BeginRoutes();
  if (routes_ != nullptr) {
    routes_->SetStoreIncarnation(Incarnation());
    routes_->Note(changed);
    routes_->NoteProof();
  }
  if (view->complete() && std::exchange(told_proven_, proven_at_) != proven_at_) {
    owner_.OnProven(proven_at_);
  }
}

// ---- routes and observers ----------------------------------------------------------------------

void GroupFollower::AddObserver(std::shared_ptr<Observer> observer) {
  if (halted_) observer->OnHalted(*halted_);
  observers_.push_back(std::move(observer));
}

void GroupFollower::AddRouteObserver(std::shared_ptr<RouteObserver> observer) {
  if (routes_ended_) return observer->OnRoutesEnded(*routes_ended_);
  waiting_.push_back(std::move(observer));
  BeginRoutes();
}

void GroupFollower::BeginRoutes() {
  const core::View* const view = owner_.FollowedView();
  if (waiting_.empty() || view == nullptr) return;
  if (routes_ == nullptr) {
    RouteSource source{.executor = parts_.executor,
                       .clock = parts_.clock,
                       .view = *view,
                       .shard = [this](ShardId shard) { return owner_.ShardNow(shard); },
                       .proven_at = [this] { return proven_at_; },
                       .stale_after = [this] { return owner_.StaleAfter(); }};
    routes_ =
        std::make_shared<RouteFeed>(std::move(source), RouteGroup{.group = parts_.group,
                                                                  .server = parts_.name,
                                                                  .shards = view->shard_count(),
                                                                  .hash = owner_.Hash(),
                                                                  .incarnation = Incarnation()});
  }
  for (auto& observer : std::exchange(waiting_, {})) routes_->Add(std::move(observer));
}

void GroupFollower::EndRoutes(const Error& why) {
  if (routes_ended_) return;
  routes_ended_ = why;
  if (routes_ != nullptr) routes_->Close(why);
  for (const auto& observer : std::exchange(waiting_, {})) observer->OnRoutesEnded(why);
}

void GroupFollower::NoteShard(ShardId shard) {
  board_.Note(shard);
  if (routes_ != nullptr) routes_->Note(shard);
}

std::uint64_t GroupFollower::Incarnation() const {
  return StoreIncarnationOf(cluster_, owner_.ConfigIncarnation());
}

// ---- history, status and the log ---------------------------------------------------------------

void GroupFollower::AddToHistory(const Transition& transition, const GapPhases& gap) {
  if (parts_.history == nullptr) return;
  parts_.history->Add(transition, RevisionOf(*owner_.FollowedView(), transition), gap);
}

void GroupFollower::AddToHistory(const core::ReportNodeChange& changed) {
  if (parts_.history == nullptr) return;
  parts_.history->AddChange(OneLine(changed.change, kLongestOrder),
                            OneLine(changed.actor, kLongestOrder),
                            owner_.FollowedView()->revision());
}

// A change of any policy also writes the one of kChanged. What the first read finds happened before
// this node was there. A read may be older than what the watch showed, or newer.
void GroupFollower::NoteOrders(const std::vector<Fact>& facts) {
  const bool first = !orders_seen_;
  if (first) orders_seen_ = Revision{};
  for (const Fact& fact : facts) {
    const auto* const config = std::get_if<ConfigFact>(&fact);
    const auto* const policy = std::get_if<PolicyFact>(&fact);
    if (config != nullptr || policy != nullptr) ForgetStatusSoon();
    if (config != nullptr) NoteSettings(*config);
    if (policy == nullptr || policy->name.kind != PolicyKind::kChanged) continue;
    if (policy->revision <= *orders_seen_) continue;
    orders_seen_ = policy->revision;
    const bool ordered = policy->present && !policy->actor.empty() && !policy->change.empty();
    if (first || !ordered || parts_.history == nullptr) continue;
    parts_.history->AddChange(policy->change, policy->actor, policy->revision);
  }
}

// A bad config that is put back has the settings from before. Its own were nobody's order.
void GroupFollower::NoteSettings(const ConfigFact& config) {
  const bool readable = config.present && config.readability == Readability::kReadable;
  const core::View* const view = owner_.FollowedView();
  if (!readable || (view != nullptr && config.shards != view->shard_count())) return;
  const auto& seen = settings_seen_;
  if (seen && (config.hash != seen->hash || config.cluster_id != seen->cluster_id)) return;
  if (seen && config.revision <= seen->revision) return;
  std::vector<std::string> ordered;
  if (seen && config.failover != seen->failover) {
    ordered.push_back(core::SettingWords(config.failover));
  }
  if (seen && config.placement != seen->placement) {
    ordered.push_back(core::PlacementWords(config.placement.size()));
  }
  settings_seen_ = config;
  if (config.actor.empty() || parts_.history == nullptr) return;
  for (const std::string& words : ordered) {
    parts_.history->AddChange(OneLine(words, kLongestOrder), config.actor, config.revision);
  }
}

std::shared_ptr<const NodeStatus> GroupFollower::Status() {
  const TimePoint now = parts_.clock.Now();
  const core::View* const view = owner_.FollowedView();
  const bool complete = view != nullptr && view->complete();
  const bool shared = status_ != nullptr && now < status_until_;
  const bool live = owner_.Live();
  if (shared && complete == status_complete_ && live == status_live_) return status_;
  status_complete_ = complete;
  status_live_ = live;
  auto status = std::make_shared<NodeStatus>(owner_.MakeStatus(now, board_));
  status->group = parts_.group;
  status->node = parts_.name;
  status->version = kVersion;
  status->halted = halted_;
  status->ready = status->not_ready.empty();
  if (parts_.history != nullptr) status->recent = parts_.history->Recent(kRecentShown);
  status->counters.log_records_dropped = parts_.log.Dropped();
  const etcd::WatchCursorCounts& watched = cursor_ != nullptr ? cursor_->counts() : watched_;
  status->counters.watch_resyncs = watched.resyncs;
  status->counters.watch_stale_events = watched.repeated_revisions;
  if (view != nullptr) {
    status->shard_count = view->shard_count();
    status->hash = owner_.Hash();
    if (complete) status->view_age = now - proven_at_;
    status->stale = complete && status->view_age > owner_.StaleAfter();
  }
  status_ = std::move(status);
  // From now on: the calls that came meanwhile stand in the loop's queue.
  const TimePoint made = parts_.clock.Now();
  status_until_ = made + SharedFor(made - now);
  status_kept_until_ = made + std::clamp<Duration>(made - now, kStatusAge, kLongestStatusAge);
  return status_;
}

void GroupFollower::ForgetStatusSoon() {
  status_until_ = std::min(status_until_, status_kept_until_);
}

void GroupFollower::RefreshStatus() {
  const TimePoint began = parts_.clock.Now();
  if (began < refresh_from_) return;
  ForgetStatus();
  Status();
  const TimePoint made = parts_.clock.Now();
  refresh_from_ = status_until_ = made + SharedFor(2 * (made - began));
}

bool GroupFollower::HeartbeatDue() {
  const TimePoint now = parts_.clock.Now();
  if (now < heartbeat_at_) return false;
  heartbeat_at_ = now + kHeartbeatEvery;
  return true;
}

bool GroupFollower::IsNewTrouble(const std::string& detail) {
  const TimePoint now = parts_.clock.Now();
  std::erase_if(troubles_,
                [now](const auto& entry) { return now - entry.second > kTroubleIsOver; });
  if (troubles_.size() > kTroublesKept) troubles_.clear();
  return troubles_.insert_or_assign(detail, now).second;
}

}  // namespace baton::runtime
