// DemoObserver: sees from outside which node leads which shard. All its times are of this process's
// clock.
//
// A thread of its own reads the boards (board.h) of all nodes again and again. Each reading of all
// boards is a sample, and checks two rules:
//  - No two nodes lead a shard in the same term.
//  - No node leads a shard in an old term after a newer leadership of the shard was seen. A board
//    is as old as the node's last sweep. So only a sweep that began after the newer leadership was
//    seen can break this rule.
// A killed node counts as leading nothing from the call of Killed on. A stopped node counts as
// leading nothing from the call of Stopped on, until the first sweep that it begins after the call
// of Woken.
//
// Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "app/demo/board.h"
#include "app/demo/repeater.h"
#include "base/clock.h"
#include "baton/types.h"

namespace baton::app {

/// The index of a node, in the order of the calls of Add.
using NodeIndex = std::size_t;
inline constexpr NodeIndex kNobody = static_cast<NodeIndex>(-1);

/// A leadership that the observer saw activated. A leadership that is suspended and resumed counts
/// again, in the same term.
struct SeenChange {
  ShardId shard;
  NodeIndex from = kNobody;  ///< the leader before; may be `to`
  NodeIndex to = kNobody;
  Term term;  ///< of the new leadership
  /// When the earlier leadership was seen to end, or when its process was killed or stopped. If the
  /// new leadership was seen first, the time when it was seen. If nobody led the shard before, the
  /// observer's start.
  TimePoint left{};
  TimePoint led{};  ///< when the new leadership was activated
  Duration gap() const { return led - left; }
};

struct SeenShard {
  NodeIndex leader = kNobody;  ///< kNobody also if the leader is not activated yet
  Term term;
  friend bool operator==(const SeenShard&, const SeenShard&) = default;
};

struct SeenViolations {
  std::uint64_t count = 0;
  std::vector<std::string> lines;  ///< one for each of the first DemoObserver::kMaxViolations
};

class DemoObserver {
 public:
  explicit DemoObserver(std::uint32_t shards);

  /// Adds a node. REQUIRES (not checked): `board` outlives the observer, and both have the same
  /// number of shards.
  NodeIndex Add(const std::string& node, DemoBoard& board);

  // Call these just before the signal is sent: SIGKILL, SIGSTOP or SIGCONT. REQUIRES (not checked):
  // Add returned `node`.
  void Killed(NodeIndex node);
  void Stopped(NodeIndex node);
  void Woken(NodeIndex node);

  /// Returns the leaders now, by shard number. Here, in Counts and in Leaderless, a shard counts as
  /// led only after its leader was activated.
  std::vector<SeenShard> Shards() const;
  /// Returns the leaderships that the observer saw activated, in the order in which it saw them.
  /// Leaves the first `from` of them out. REQUIRES (checked): from <= ChangeCount().
  std::vector<SeenChange> Changes(std::size_t from = 0) const;
  std::size_t ChangeCount() const;
  /// How many shards each node leads, by NodeIndex.
  std::vector<std::uint32_t> Counts() const;
  /// How many shards nobody leads.
  std::uint32_t Leaderless() const;
  std::uint64_t Samples() const;
  /// Returns how often the rules were broken so far.
  SeenViolations Violations() const;
  /// Returns how late a change may be seen now. This is the longest time from one sweep of a
  /// running node to its next sweep, plus the pause between two samples.
  Duration Resolution() const;

  static constexpr std::size_t kMaxViolations = 20;

 private:
  enum class Life { kRunning, kStopped, kWaking, kDead };
  struct Watched {
    std::string name;
    DemoBoard* board = nullptr;
    Life life = Life::kRunning;
    TimePoint woken{};
    std::uint64_t changes = 0;     // the board's, at the last look
    std::vector<BoardWord> words;  // as of the last look
  };
  struct Shard {
    NodeIndex leader = kNobody;  // the node with the newest term
    Term term;
    bool acts = false;  // the leader's word still shows this term
    bool activated = false;
    TimePoint seen{};            // when the newest term was first seen
    TimePoint left{};            // when the last leader's word stopped showing its term
    NodeIndex before = kNobody;  // the leader before `leader`
  };
  /// An older leadership on a board after a newer one was seen.
  struct Doubt {
    NodeIndex node = kNobody;
    ShardId shard;
    BoardWord word = 0;
    TimePoint newer_seen{};
  };

  void Sample();
  void Look(NodeIndex node);
  void TakeWord(NodeIndex node, std::uint32_t shard, BoardWord word);
  void TakeClaim(NodeIndex node, std::uint32_t shard, BoardWord word, TimePoint now);
  void TakeActivation(std::uint32_t shard, TimePoint now);
  void Leave(NodeIndex node, TimePoint now);
  void JudgeDoubts();
  void Violate(const std::string& line);

  const TimePoint started_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Watched> nodes_;
  std::vector<Shard> shards_;
  std::vector<SeenChange> changes_;
  std::vector<Doubt> doubts_;
  SeenViolations violations_;
  std::uint64_t samples_ = 0;

  const Repeater thread_;
};

struct Percentiles {
  Duration p50{};
  Duration p99{};
  Duration max{};
};
/// Returns percentiles, each of which is one of the durations (nearest rank). REQUIRES (checked):
/// `durations` is not empty.
Percentiles PercentilesOf(std::vector<Duration> durations);

}  // namespace baton::app
