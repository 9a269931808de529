// DemoObserver: sees from outside which node leads which shard, by the clock of this process alone.
//
// A thread of its own reads all boards again and again. Every sample checks that no node leads a
// shard after a newer leadership of it was seen, and that terms only grow. A killed node counts as
// leading nothing from just before the signal. A stopped node can't act, so its words don't count
// until its first sweep after it was woken.
//
// A word is as old as the node's last sweep. So if a board still shows an older leadership, this
// counts as a second leader only if a sweep that began after the newer one was seen repeats it.
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

/// Index of a node, in the order of the calls of Add.
using NodeIndex = std::size_t;
inline constexpr NodeIndex kNobody = static_cast<NodeIndex>(-1);

/// A new leadership of a shard that the observer saw.
struct SeenChange {
  ShardId shard;
  NodeIndex from = kNobody;
  NodeIndex to = kNobody;
  Term term;
  /// When the observer saw the old leadership end (or its process stopped), and the new one
  /// activated. If nobody led the shard before, `left` is the observer's start.
  TimePoint left{};
  TimePoint led{};
  Duration gap() const { return led - left; }
};

struct SeenShard {
  NodeIndex leader = kNobody;  ///< only an activated one
  Term term;
  friend bool operator==(const SeenShard&, const SeenShard&) = default;
};

class DemoObserver {
 public:
  explicit DemoObserver(std::uint32_t shards);

  /// `board` must outlive the observer.
  NodeIndex Add(const std::string& node, DemoBoard& board);

  // Call each just before the signal is sent: the node can't act from then on, or until then.
  void Killed(NodeIndex node);
  void Stopped(NodeIndex node);
  void Woken(NodeIndex node);

  /// By shard. As in Counts and Leaderless, a shard counts as led once its leader has activated it.
  std::vector<SeenShard> Shards() const;
  /// All leaderships that the observer saw activated, in that order; the first `from` are left out.
  /// One that ends before it is activated is not among them. REQUIRES: from <= ChangeCount().
  std::vector<SeenChange> Changes(std::size_t from = 0) const;
  std::size_t ChangeCount() const;
  /// How many shards each node leads.
  std::vector<std::uint32_t> Counts() const;
  std::uint32_t Leaderless() const;
  std::uint64_t Samples() const;
  /// The broken rules that were seen, one line each; at most kMaxViolations.
  std::vector<std::string> Violations() const;
  /// How late a change may be seen: the pauses between the nodes' sweeps plus those between
  /// samples.
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
    bool acts = false;  // the leader's word still says so
    bool activated = false;
    TimePoint seen{};  // when the newest term was first seen
    TimePoint left{};  // since when nobody acted
    NodeIndex before = kNobody;
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
  std::vector<std::string> violations_;
  std::uint64_t samples_ = 0;

  const Repeater thread_;
};

struct Percentiles {
  Duration p50{};
  Duration p99{};
  Duration max{};
};
/// REQUIRES: not empty.
Percentiles PercentilesOf(std::vector<Duration> durations);

}  // namespace baton::app
