// RelayEngine: a view of a group for callers, kept by a process that takes no part in the group.
//
// It follows the group as a node does (GroupFollower), but writes nothing: it has no member key and
// no lease. It waits until the group has a `config`, which says how many shards there are. Every
// kProveEvery it makes a small linearizable read, unless an earlier proof is still pending. When
// the watch has reached that read's revision, the view is proven to have been current when the read
// was sent.
//
// The engine halts at once in these cases:
//   - Etcd went back in time, or a read of everything shows another etcd cluster.
//   - A newer version or a recovery changed the config.
//   - The first config that the engine reads does not fit.
//
// If a later config does not fit, the engine waits for core::kConfigPatience. A config that fits
// ends the wait; another config that does not fit begins the wait again. The engine halts once the
// view is proven to have been current at the end of the wait. A halt ends the routes; the view
// stays as it is.
//
// Threads: everything except the constructor and the destructor runs on the executor. Before Start,
// the thread that made the engine may also set handlers. After Close, late answers are ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/group_config.h"
#include "core/seen_transitions.h"
#include "core/view.h"
#include "core/watch_progress.h"
#include "runtime/group_follower.h"

namespace baton::runtime {

class RelayEngine final : public std::enable_shared_from_this<RelayEngine>,
                          private GroupFollower::Owner {
 public:
  static constexpr Duration kProveEvery = std::chrono::seconds(2);
  static constexpr Duration kStaleAfter = std::chrono::seconds(10);

  /// `parts.name`: the server's name in answers to callers. REQUIRES: as for FollowerParts.
  explicit RelayEngine(FollowerParts parts);
  RelayEngine(const RelayEngine&) = delete;
  RelayEngine& operator=(const RelayEngine&) = delete;

  /// Begins to read etcd. REQUIRES: a shared_ptr owns this object; called once, before Close.
  void Start();
  /// Ends the watch, the routes (with kRelayStopped) and the history. A second call does nothing.
  void Close();

  /// For observers, and for snapshots of the status.
  GroupFollower& follower() { return follower_; }
  /// Sets the handler that is called on the loop each time a complete view is proven to have been
  /// current. The argument is the time at which the view was current; it grows with each call.
  /// REQUIRES: called before Start.
  void OnProven(std::function<void(TimePoint)> handler) { proven_ = std::move(handler); }

 private:
  // GroupFollower::Owner.
  void OnSnapshot(Snapshot snapshot, std::uint64_t cluster) override;
  void OnChanges(Changes changes, std::uint64_t cluster) override;
  void OnReached(Revision revision) override;
  void OnProven(TimePoint at) override;
  const core::View* FollowedView() const override { return view_.get(); }
  HashFunction Hash() const override { return shape_->hash; }
  Revision ConfigIncarnation() const override {
    return config_ ? config_->Incarnation() : Revision{};
  }
  ShardStatus ShardNow(ShardId shard) const override;
  Duration StaleAfter() const override { return kStaleAfter; }
  NodeStatus MakeStatus(TimePoint now, StatusBoard& board) const override;

  /// A config that this relay can't follow. The group's nodes may still put the right config back.
  /// Each new bad config begins core::kConfigPatience again, as in ConfigKeeper. So the relay does
  /// not halt while the next bad config always comes within that time.
  struct BadConfig {
    Error problem;
    Revision revision;
    TimePoint since{};
  };

  /// A question for the store's revision.
  struct Question {
    TimePoint asked{};
    Revision applied;  ///< what the watch had delivered then
  };

  template <typename News>
  void Take(const News& news, std::uint64_t cluster);
  /// Passes on what changed in the view, and continues to choose standbys (ContinueStandbys).
  void ShowChanges(TimePoint now);
  void TakeConfig(const ConfigFact& config, std::uint64_t cluster);
  void TakeBadConfig(const ConfigFact& config, const Error& problem);
  void CheckConfig();
  /// Why the etcd cluster that answers is not the group's; nullopt: it may be.
  std::optional<Error> WrongCluster(std::uint64_t answering) const;
  void DoubtCluster();
  void CheckWentBack();
  void AddSeen(const core::ViewChanges& changes, TimePoint now);
  void Prove();
  void Proving(const Question& question, Revision store, std::uint64_t cluster);
  void CheckWatch();
  void Heartbeat();
  std::string WhyNotReady() const;

  const FollowerParts parts_;
  const Duration audit_every_;
  GroupFollower follower_;
  core::WatchProgress watch_;
  std::optional<core::GroupShape> shape_;  ///< from the first config that was read
  std::optional<ConfigFact> config_;       ///< the last one that fitted
  std::optional<BadConfig> bad_config_;
  Revision config_seen_;              ///< of the newest config that was looked at
  TimePoint proven_at_{};             ///< the last time at which the view is proven to be current
  std::unique_ptr<core::View> view_;  ///< null: the shape is not known yet
  std::optional<core::SeenTransitions> seen_;
  std::function<void(TimePoint)> proven_;
  bool waits_ = false;      ///< waits for the group to be created
  bool will_show_ = false;  ///< another ShowChanges is posted
  bool closed_ = false;
};

}  // namespace baton::runtime
