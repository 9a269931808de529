#include "runtime/relay_engine.h"

#include <utility>

#include <fmt/format.h>

#include "core/detection.h"
#include "core/options.h"
#include "runtime/node_status.h"

namespace baton::runtime {
namespace {

constexpr std::chrono::milliseconds kProofDeadline{5000};
// Nodes' targets are shown as a node with the default option would.
const Duration kSettle = core::CoreOptions{}.settle;

const Error kRelayHalted{ErrorCode::kUnavailable, "the relay has halted; ask another"};

/// A watch may miss a deletion around a compaction, so everything is read again from time to time.
Duration AuditEvery(std::uint64_t random) {
  const auto spread = static_cast<std::uint64_t>(core::kAuditEvery.count() / 4);
  return core::kAuditEvery + Duration(static_cast<Duration::rep>(random % spread));
}

}  // namespace

RelayEngine::RelayEngine(FollowerParts parts)
    : parts_(std::move(parts)),
      audit_every_(AuditEvery(parts_.random())),
      follower_(parts_, *this) {}

void RelayEngine::Start() {
  follower_.Start();
  Prove();
}

void RelayEngine::Close() {
  closed_ = true;
  follower_.Close(kRelayStopped);
}

// ---- reading the group -------------------------------------------------------------------------

void RelayEngine::OnSnapshot(Snapshot snapshot, std::uint64_t cluster) {
  watch_.NoteRead(parts_.clock.Now());
  Take(snapshot, cluster);
  if (view_ != nullptr || follower_.halted() || std::exchange(waits_, true)) return;
  parts_.log.Info("group '" + parts_.group + "' does not exist yet: waiting for its first node");
}

void RelayEngine::OnChanges(Changes changes, std::uint64_t cluster) {
  const bool waited = view_ == nullptr;
  Take(changes, cluster);
  if (waited && view_ != nullptr) follower_.watch().Audit();  // reads what was before the config
}

void RelayEngine::OnReached(Revision revision) {
  watch_.Reach(revision, parts_.clock.Now());
  if (!follower_.halted()) follower_.Followed({}, watch_.reached());
}

template <typename News>
void RelayEngine::Take(const News& news, std::uint64_t cluster) {
  if (follower_.halted()) return;
  // One message may have a bad config and the one that replaced it. A read that began earlier may
  // have an older one.
  for (const Fact& fact : news.facts) {
    const auto* const config = std::get_if<ConfigFact>(&fact);
    if (config == nullptr || !config->present) continue;
    if (config->revision < config_seen_ && news.revision < config_seen_) continue;
    config_seen_ = config->revision;
    if (!follower_.halted()) TakeConfig(*config, cluster);
  }
  if (const auto wrong = WrongCluster(cluster); wrong && !follower_.halted()) {
    return follower_.Halt(*wrong, kRelayHalted);
  }
  watch_.Reach(news.revision, parts_.clock.Now());
  if (follower_.halted() || view_ == nullptr) return;
  const TimePoint now = parts_.clock.Now();
  view_->Merge(news, now);
  CheckWentBack();
  if (!follower_.halted()) ShowChanges(now);
}

void RelayEngine::ShowChanges(TimePoint now) {
  const bool more = view_->ContinueStandbys();
  const core::ViewChanges changes = view_->TakeChanges();
  AddSeen(changes, now);
  follower_.Followed(changes, watch_.reached());
  if (!more || std::exchange(will_show_, true)) return;
  parts_.executor.Post([weak = weak_from_this()] {
    const auto engine = weak.lock();
    if (engine == nullptr || engine->closed_) return;
    engine->will_show_ = false;
    if (!engine->follower_.halted()) engine->ShowChanges(engine->parts_.clock.Now());
  });
}

void RelayEngine::TakeConfig(const ConfigFact& config, std::uint64_t cluster) {
  const auto problem = core::CheckGroupConfig(config, {.reader = core::ConfigReader::kRelay,
                                                       .key = parts_.keyspace.ConfigKey(),
                                                       .answering = cluster,
                                                       .shape = shape_});
  if (problem) return TakeBadConfig(config, *problem);
  config_ = config;
  if (std::exchange(bad_config_, std::nullopt)) {
    parts_.log.Info("the key '" + parts_.keyspace.ConfigKey() + "' is right again");
  }
  if (shape_) return;
  shape_ = {.shards = config.shards, .hash = config.hash, .cluster_id = config.cluster_id};
  view_ = std::make_unique<core::View>(config.shards, NodeId());
  seen_.emplace(config.shards);
  waits_ = false;
  parts_.log.Info("following group '" + parts_.group + "'", {{"shards", config.shards}});
}

// One bad write is no reason to halt all relays, if the nodes put the config back.
void RelayEngine::TakeBadConfig(const ConfigFact& config, const Error& problem) {
  const bool intended = core::OfNewerSchema(config) || core::ClosedByRecovery(config);
  if (!shape_ || intended) return follower_.Halt(problem, kRelayHalted);
  if (!bad_config_) {
    parts_.log.Error("the key '" + parts_.keyspace.ConfigKey() +
                     "' does not fit this group any more: the relay goes on, and halts if the "
                     "nodes don't put it back");
  }
  if (bad_config_ && bad_config_->revision == config.revision) return;
  bad_config_ = BadConfig{problem, config.revision, parts_.clock.Now()};
}

void RelayEngine::CheckConfig() {
  if (!bad_config_ || proven_at_ < bad_config_->since + core::kConfigPatience) return;
  follower_.Halt(bad_config_->problem, kRelayHalted);
}

// Another etcd may have nothing of the group, not even a config.
std::optional<Error> RelayEngine::WrongCluster(std::uint64_t answering) const {
  if (!config_) return std::nullopt;
  return core::CheckGroupConfig(*config_, {.reader = core::ConfigReader::kRelay,
                                           .key = parts_.keyspace.ConfigKey(),
                                           .answering = answering,
                                           .shape = shape_});
}

// One of the endpoints may lead to another etcd. What that answers proves nothing, and only a read
// of everything decides, as in a node. Of the watch's messages the cursor sees to the same.
void RelayEngine::DoubtCluster() {
  if (watch_.AuditDue(parts_.clock.Now(), core::kConfigPatience)) follower_.watch().Audit();
}

void RelayEngine::CheckWentBack() {
  const auto& older = view_->went_back();
  if (!older) return;
  follower_.Halt(
      {ErrorCode::kFailedPrecondition,
       fmt::format("etcd went back in time: a key had revision {}, and a later read found it at "
                   "revision {}; a backup was restored with its revision raised while this relay "
                   "ran (see docs/operating.md, Restored backups); start the relay again",
                   older->known.value, older->found.value)},
      kRelayHalted);
}

void RelayEngine::AddSeen(const core::ViewChanges& changes, TimePoint now) {
  seen_->Begin(*view_);
  for (const ShardId shard : changes.shards) {
    std::optional<Transition> seen = seen_->Look(*view_, shard);
    if (!seen) continue;
    seen->detect = core::Detect(*view_, *seen, now);
    follower_.AddToHistory(*seen, GapOf(*seen));
  }
}

// ---- proving that the view is current ----------------------------------------------------------

void RelayEngine::Prove() {
  if (follower_.halted()) return;
  parts_.executor.Schedule(kProveEvery, [weak = weak_from_this()] {
    const auto engine = weak.lock();
    if (engine != nullptr && !engine->closed_) engine->Prove();
  });
  Heartbeat();
  CheckConfig();
  CheckWatch();
  if (follower_.halted() || follower_.proving()) return;
  const Question question{.asked = parts_.clock.Now(), .applied = follower_.watch().applied()};
  follower_.AskRevision(kProofDeadline, [weak = weak_from_this(), &executor = parts_.executor,
                                         question](Revision store, std::uint64_t cluster) {
    executor.Post([weak, question, store, cluster] {
      const auto engine = weak.lock();
      if (engine != nullptr && !engine->closed_) engine->Proving(question, store, cluster);
    });
  });
}

void RelayEngine::Proving(const Question& question, Revision store, std::uint64_t cluster) {
  if (follower_.halted()) return;
  if (WrongCluster(cluster)) return DoubtCluster();
  if (store < question.applied) {
    const Error why{
        ErrorCode::kFailedPrecondition,
        fmt::format(
            "etcd went back in time: it had revision {}, and has {} now (see docs/operating.md, "
            "Restored backups, and A wiped etcd); start the relay again",
            question.applied.value, store.value)};
    return follower_.Halt(why, kRelayHalted);
  }
  if (watch_.Require(store, parts_.clock.Now())) {
    follower_.watch().RequestProgress(watch_.required());
  }
  follower_.Prove(store, question.asked);
  follower_.Followed({}, watch_.reached());
}

void RelayEngine::CheckWatch() {
  const TimePoint now = parts_.clock.Now();
  if (const auto trouble = watch_.StandsStill(now)) {
    parts_.log.Warn(*trouble);
    follower_.watch().Reopen();
  }
  if (watch_.AuditDue(now, audit_every_)) follower_.watch().Audit();
}

void RelayEngine::OnProven(TimePoint at) {
  proven_at_ = at;
  if (proven_) proven_(at);
}

// ---- operators ---------------------------------------------------------------------------------

// The only lines of a quiet relay's log.
void RelayEngine::Heartbeat() {
  if (!follower_.HeartbeatDue()) return;
  const bool reads = view_ != nullptr;
  parts_.log.Info("heartbeat", {{"group", parts_.group},
                                {"relay", parts_.name},
                                {"leaderless", reads ? view_->vacancies() : 0},
                                {"nodes", reads ? view_->LiveMembers() : 0},
                                {"revision", reads ? view_->revision().value : 0}});
}

std::string RelayEngine::WhyNotReady() const {
  if (follower_.halted()) return "halted: " + follower_.halted()->message;
  if (waits_) return "group '" + parts_.group + "' does not exist yet: waiting for its first node";
  if (view_ == nullptr || !view_->complete()) return "etcd has not been read yet";
  return {};
}

ShardStatus RelayEngine::ShardNow(ShardId shard) const {
  return ShardOf(*view_, shard, parts_.clock.Now());
}

NodeStatus RelayEngine::MakeStatus(TimePoint now, StatusBoard& board) const {
  NodeStatus status;
  status.session = SessionPhase::kRelay;
  status.not_ready = WhyNotReady();
  if (view_ == nullptr) return status;
  const auto shard_of = [this](ShardId shard) { return ShardNow(shard); };
  AddView(*view_, {.shard = shard_of, .settle = kSettle, .now = now}, board, &status);
  return status;
}

}  // namespace baton::runtime
