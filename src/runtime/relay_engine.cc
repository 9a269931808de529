#include "runtime/relay_engine.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "baton/version.h"
#include "core/options.h"
#include "runtime/node_status.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kRecentShown = 256;
constexpr Duration kStatusAge = std::chrono::milliseconds(50);
constexpr std::chrono::milliseconds kProofDeadline{5000};
// Nodes' targets are shown as a node with the default option would.
constexpr Duration kSettle = std::chrono::seconds(2);

const Error kStopped{ErrorCode::kUnavailable, "the relay has stopped; ask another"};
const Error kHalted{ErrorCode::kUnavailable, "the relay has halted; ask another"};

std::string Number(std::int64_t value) { return std::to_string(value); }

/// The same limit as in nodes: a damaged count must not allocate a huge table.
constexpr std::uint32_t kMostShards = 1'000'000;

/// Why a relay can't read the group; empty: it can.
std::string WrongWith(const ConfigFact& config, std::uint64_t cluster) {
  if (config.readability == Readability::kNewerSchema || config.schema > core::kSchema) {
    return "group config: written by a newer version (schema " + Number(config.schema) +
           ", this one knows " + Number(core::kSchema) + "); update this relay";
  }
  const bool sane = config.shards > 0 && config.shards <= kMostShards;
  if (config.readability == Readability::kDamaged || !sane) {
    return "group config: the key can't be read; restore it, then start the relay again";
  }
  if (config.cluster_id == 0) {
    return "group config: closed by a recovery that has not finished: run the same batonctl "
           "recover again, then start the relay";
  }
  if (config.cluster_id != cluster) {
    return "group config: the group belongs to etcd cluster " + std::to_string(config.cluster_id) +
           ", but cluster " + std::to_string(cluster) +
           " answers; check --etcd (if the cluster was rebuilt on purpose, see batonctl recover)";
  }
  return {};
}

const ConfigFact* ConfigIn(const std::vector<Fact>& facts) {
  for (const Fact& fact : facts) {
    const auto* config = std::get_if<ConfigFact>(&fact);
    if (config != nullptr && config->present) return config;
  }
  return nullptr;
}

}  // namespace

RelayEngine::RelayEngine(std::string group, std::string name, etcd::Keyspace keyspace,
                         RelayParts parts)
    : parts_(std::move(parts)),
      group_(std::move(group)),
      name_(std::move(name)),
      keyspace_(std::move(keyspace)) {
  etcd::WatchCursorHandler handler;
  handler.snapshot = [this](Snapshot snapshot, std::uint64_t cluster) {
    TakeSnapshot(std::move(snapshot), cluster);
  };
  handler.changes = [this](Changes changes, std::uint64_t cluster) {
    TakeChanges(std::move(changes), cluster);
  };
  handler.heard = [this](Revision revision, std::uint64_t) {
    watch_at_ = std::max(watch_at_, revision);
    CheckProof();
  };
  handler.trouble = [this](const std::string& detail) {
    if (std::exchange(last_trouble_, detail) != detail) log::Warn("watch: " + detail);
  };
  etcd::CursorExecutor on_loop;
  on_loop.post = [&executor = parts_.executor](std::function<void()> f) {
    executor.Post(std::move(f));
  };
  on_loop.schedule = [&executor = parts_.executor](Duration delay, std::function<void()> f) {
    executor.Schedule(delay, std::move(f));
  };
  etcd::WatchCursorOptions options;
  options.jitter = [random = parts_.random](Duration delay) {
    const auto range = static_cast<std::uint64_t>(std::max<Duration::rep>(1, delay.count() / 4));
    return delay + Duration(static_cast<Duration::rep>(random() % range));
  };
  cursor_ = std::make_unique<etcd::WatchCursor>(parts_.transport, keyspace_, std::move(on_loop),
                                                options, std::move(handler));
}

template <typename Function>
void RelayEngine::Later(Duration delay, Function function) {
  parts_.executor.Schedule(delay, [weak = weak_from_this(), function = std::move(function)] {
    const auto engine = weak.lock();
    if (engine != nullptr && !engine->closed_) function(*engine);
  });
}

void RelayEngine::Start() {
  heartbeat_at_ = parts_.clock.Now() + kHeartbeatEvery;
  cursor_->Start();
  Prove();
  Audit();
}

// The only lines of a quiet relay's log.
void RelayEngine::Heartbeat() {
  const TimePoint now = parts_.clock.Now();
  if (now < heartbeat_at_) return;
  heartbeat_at_ = now + kHeartbeatEvery;
  const bool reads = view_ != nullptr;
  log::Info("heartbeat", {{"group", group_},
                          {"relay", name_},
                          {"leaderless", reads ? view_->vacancies() : 0},
                          {"nodes", reads ? view_->LiveMembers() : 0},
                          {"revision", reads ? view_->revision().value : 0}});
}

void RelayEngine::Close() {
  closed_ = true;
  cursor_.reset();
  if (routes_ != nullptr) routes_->Close(kStopped);
  if (parts_.history != nullptr) parts_.history->Close();
  for (const auto& observer : std::exchange(waiting_, {})) observer->OnRoutesEnded(kStopped);
}

// ---- reading the group -------------------------------------------------------------------------

void RelayEngine::TakeSnapshot(Snapshot snapshot, std::uint64_t cluster) {
  if (halted_) return;
  watch_at_ = std::max(watch_at_, snapshot.revision);
  const ConfigFact* const config = ConfigIn(snapshot.facts);
  if (config != nullptr) TakeConfig(*config, cluster);
  if (halted_) return;
  if (view_ == nullptr) return WaitForGroup();
  view_->Merge(snapshot, parts_.clock.Now());
  if (proven_) proven_(ProvenAt());
  AfterMerge();
  CheckProof();
}

void RelayEngine::TakeChanges(Changes changes, std::uint64_t cluster) {
  if (halted_) return;
  watch_at_ = std::max(watch_at_, changes.revision);
  const ConfigFact* const config = ConfigIn(changes.facts);
  if (config != nullptr) {
    const bool created = view_ == nullptr;
    TakeConfig(*config, cluster);
    if (created && view_ != nullptr) cursor_->Audit();  // reads what was before the config
  }
  if (halted_ || view_ == nullptr) return;
  view_->Merge(changes, parts_.clock.Now());
  AfterMerge();
  CheckProof();
}

void RelayEngine::TakeConfig(const ConfigFact& config, std::uint64_t cluster) {
  const std::string wrong = WrongWith(config, cluster);
  if (!wrong.empty()) return Halt(wrong);
  if (view_ != nullptr) {
    if (config.shards == shape_.shards && config.hash == shape_.hash && cluster == cluster_) {
      if (config.revision > shape_.revision) shape_ = config;
      if (routes_ != nullptr)
        routes_->SetStoreIncarnation(StoreIncarnationOf(cluster_, shape_.revision));
      return;
    }
    return Halt("the group was created again with other settings or in another etcd (it has " +
                Number(config.shards) + " shards, and had " + Number(shape_.shards) +
                "); start the relay again");
  }
  shape_ = config;
  cluster_ = cluster;
  view_ = std::make_unique<core::View>(config.shards, NodeId());
  seen_.emplace(config.shards);
  waits_ = false;
  log::Info("following group '" + group_ + "'", {{"shards", config.shards}});
  if (!waiting_.empty()) BeginRoutes();
}

void RelayEngine::WaitForGroup() {
  if (std::exchange(waits_, true)) return;
  log::Info("group '" + group_ + "' does not exist yet: waiting for its first node");
}

void RelayEngine::Halt(const std::string& why) {
  if (halted_) return;
  halted_ = Error{ErrorCode::kFailedPrecondition, why};
  log::Error("halted: " + why);
  if (routes_ != nullptr) routes_->Close(kHalted);
  for (const auto& observer : std::exchange(waiting_, {})) observer->OnRoutesEnded(kHalted);
  for (const auto& observer : observers_) observer->OnHalted(*halted_);
}

void RelayEngine::AfterMerge() {
  const core::Touched touched = view_->TakeTouched();
  seen_->Begin(*view_);
  for (const ShardId shard : touched.shards) {
    const std::optional<Transition> seen = seen_->Look(*view_, shard);
    if (!seen || parts_.history == nullptr) continue;
    parts_.history->Add(*seen, Revision{seen->term.value}, GapSeen(*seen));
  }
  if (routes_ != nullptr) {
    routes_->Note(touched);
    routes_->NoteProof();
  }
}

// ---- proving that the view is current ----------------------------------------------------------

void RelayEngine::Prove() {
  if (halted_) return;
  Later(kProveEvery, [](RelayEngine& engine) { engine.Prove(); });
  Heartbeat();
  if (floor_) return CheckProof();
  etcdserverpb::RangeRequest request;
  request.set_key(keyspace_.ConfigKey());
  request.set_count_only(true);
  const TimePoint asked = parts_.clock.Now();
  const Revision applied = cursor_->applied();
  parts_.transport.Range(request, kProofDeadline,
                         [weak = weak_from_this(), &executor = parts_.executor, asked,
                          applied](etcd::Reply<etcdserverpb::RangeResponse> reply) {
                           executor.Post([weak, asked, applied, reply = std::move(reply)] {
                             const auto engine = weak.lock();
                             if (engine != nullptr && !engine->closed_)
                               engine->Proving(asked, applied, reply);
                           });
                         });
}

void RelayEngine::Proving(TimePoint asked, Revision applied,
                          const etcd::Reply<etcdserverpb::RangeResponse>& reply) {
  if (!reply.status.ok() || halted_) return;
  const Revision store{reply.response.header().revision()};
  if (store < applied) {
    return Halt("etcd went back in time: it had revision " + Number(applied.value) + ", and has " +
                Number(store.value) +
                " now (see docs/operating.md, Restored backups); start the relay again");
  }
  if (floor_) return;
  floor_ = store;
  floor_asked_ = asked;
  behind_since_ = parts_.clock.Now();
  if (watch_at_ < store) cursor_->RequestProgress();
  CheckProof();
}

void RelayEngine::CheckProof() {
  if (!floor_) return;
  if (watch_at_ >= *floor_) {
    floor_.reset();
    return Proven(floor_asked_);
  }
  const TimePoint now = parts_.clock.Now();
  if (now < behind_since_ + core::kWatchStandsStill) return;
  log::Warn("the watch stands still at revision " + Number(watch_at_.value) + " below " +
            Number(floor_->value) + "; opening it on another endpoint");
  floor_.reset();
  cursor_->Reopen();
}

void RelayEngine::Proven(TimePoint asked) {
  if (view_ == nullptr || !view_->complete()) return;
  proven_at_ = std::max(proven_at_, asked);
  last_trouble_.clear();
  if (routes_ != nullptr) routes_->NoteProof();
  if (proven_) proven_(ProvenAt());
}

// Linearizable reads: the view was current when its pages were read.
TimePoint RelayEngine::ProvenAt() const {
  return view_ == nullptr ? proven_at_ : std::max(proven_at_, view_->read_at());
}

// A watch may miss a deletion around a compaction, so everything is read again from time to time.
void RelayEngine::Audit() {
  const auto spread = static_cast<std::uint64_t>(core::kAuditEvery.count() / 4);
  const Duration delay =
      core::kAuditEvery + Duration(static_cast<Duration::rep>(parts_.random() % spread));
  Later(delay, [](RelayEngine& engine) {
    if (engine.halted_) return;
    engine.cursor_->Audit();
    engine.Audit();
  });
}

// ---- observers and operators -------------------------------------------------------------------

void RelayEngine::AddObserver(std::shared_ptr<Observer> observer) {
  if (halted_) observer->OnHalted(*halted_);
  observers_.push_back(std::move(observer));
}

void RelayEngine::AddRouteObserver(std::shared_ptr<RouteObserver> observer) {
  if (halted_) return observer->OnRoutesEnded(kHalted);
  if (closed_) return observer->OnRoutesEnded(kStopped);
  waiting_.push_back(std::move(observer));
  if (view_ != nullptr) BeginRoutes();
}

void RelayEngine::BeginRoutes() {
  if (routes_ == nullptr) {
    RouteSource source{.executor = parts_.executor,
                       .clock = parts_.clock,
                       .view = *view_,
                       .shard = [this](ShardId shard) { return ShardOf(*view_, shard); },
                       .proven_at = [this] { return ProvenAt(); },
                       .stale_after = [] { return kStaleAfter; }};
    routes_ = std::make_shared<RouteFeed>(
        std::move(source),
        RouteGroup{.group = group_,
                   .server = name_,
                   .shards = shape_.shards,
                   .hash = shape_.hash,
                   .incarnation = StoreIncarnationOf(cluster_, shape_.revision)});
  }
  for (auto& observer : std::exchange(waiting_, {})) routes_->Add(std::move(observer));
}

std::string RelayEngine::NotReady() const {
  if (halted_) return "halted: " + halted_->message;
  if (waits_) return "group '" + group_ + "' does not exist yet: waiting for its first node";
  if (view_ == nullptr || !view_->complete()) return "etcd has not been read yet";
  return {};
}

std::shared_ptr<const NodeStatus> RelayEngine::Status() {
  const TimePoint now = parts_.clock.Now();
  if (status_ != nullptr && now - status_at_ < kStatusAge) return status_;
  auto status = std::make_shared<NodeStatus>();
  status->group = group_;
  status->node = name_;
  status->version = kVersion;
  status->session = SessionPhase::kRelay;
  status->halted = halted_;
  status->not_ready = NotReady();
  status->ready = status->not_ready.empty();
  status->counters.log_records_dropped = log::Dropped();
  if (cursor_ != nullptr) {
    status->counters.watch_resyncs = cursor_->counts().resyncs;
    status->counters.watch_stale_events = cursor_->counts().repeated_revisions;
  }
  if (parts_.history != nullptr) status->recent = parts_.history->Recent(kRecentShown);
  if (view_ != nullptr) {
    status->shard_count = shape_.shards;
    status->hash = shape_.hash;
    const auto shard_of = [this](ShardId shard) { return ShardOf(*view_, shard); };
    AddView(*view_, {.shard = shard_of, .settle = kSettle, .now = now}, status.get());
    if (view_->complete()) status->view_age = now - ProvenAt();
  }
  status_ = status;
  status_at_ = now;
  return status_;
}

}  // namespace baton::runtime
