// DemoBoard: a file that a demo and one of its nodes both map into memory. About every millisecond,
// the node writes into this file which shards it leads.
//
// In a *sweep*, the node asks its library for the leadership of every shard, and writes each answer
// as one *word*. The demo may read the words at any time, even while the node is stopped. Any
// thread may use a board; there are no locks. Words and the fields of Head are atomic, except
// Head::notes. So a node that is killed or stopped leaves no word half written, but it may leave a
// note half written. Each word and field has one writer. Only Head::write_state has two writers:
// the node and the demo, which take turns.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/clock.h"
#include "baton/result.h"
#include "baton/types.h"

namespace baton::app {

/// The word of one shard: the term in which the node leads the shard, and whether this leadership
/// is activated. 0: the node does not lead the shard.
using BoardWord = std::int64_t;
constexpr BoardWord WordOf(const Leadership& leadership) {
  return leadership.leads ? leadership.term.value * 2 + (leadership.activated ? 1 : 0) : 0;
}
constexpr std::int64_t TermIn(BoardWord word) { return word / 2; }
constexpr bool ActivatedIn(BoardWord word) { return word % 2 == 1; }

enum class BoardState : std::uint32_t {
  kStarting,
  kServing,
  kHalted,  ///< the node has halted, or it could not start
  kEnded    ///< after a signal, the node has drained and ended
};

/// The state of the last write that the demo asked for. Final states are kNotLeader and all states
/// after kSent.
enum class WriteState : std::uint32_t {
  kIdle,
  kAsked,      ///< the demo asked for the write
  kNotLeader,  ///< the node didn't lead the shard, so it sent nothing
  kDecided,    ///< the node led the shard; the application still works before it sends the write
  kSent,
  kAccepted,
  kRefused,  ///< etcd refused the write, because the leadership that guards it is over
  kUnknown,  ///< the node sent the write 10 times, and etcd never answered
};

/// A note about one sweep over all shards.
struct SweepNote {
  std::int64_t begun = 0;  ///< CLOCK_BOOTTIME, ns
  std::uint32_t led = 0;   ///< how many shards the node led
  std::uint32_t old = 0;   ///< how many of `led` had a term up to Head::old_term
};

class DemoBoard {
 public:
  static constexpr std::size_t kNotes = 8192;  ///< how many sweeps fit into `notes`

  struct Head {
    // Written by the node.
    std::atomic<std::int64_t> swept_from;    ///< SweepNote::begun of the last complete sweep
    std::atomic<std::uint64_t> sweeps;       ///< complete sweeps; `notes` has the last kNotes
    std::atomic<std::uint64_t> changes;      ///< how often a word has changed
    std::atomic<std::int64_t> sweep_period;  ///< ns between the starts of two sweeps
    std::atomic<std::uint32_t> port;         ///< its gRPC server's port; 0 before kServing
    std::atomic<std::uint32_t> http_port;    ///< 0 before kServing, and if it serves no HTTP
    std::atomic<BoardState> state;
    /// The demo sets kAsked if the state is kIdle or final. The node sets all other states.
    std::atomic<WriteState> write_state;
    std::atomic<std::int64_t> write_term;  ///< term of the leadership that guards the write
    // Written by the demo.
    std::atomic<std::int64_t> pause;  ///< ns between sweeps; 0: the node chooses
    std::atomic<std::uint32_t>
        share;  ///< sweeps use at most 1/share of a core; 0: the node chooses
    std::atomic<std::int64_t> old_term;      ///< see SweepNote::old
    std::atomic<std::uint32_t> write_shard;  ///< set before write_state becomes kAsked
    std::atomic<std::int64_t> write_work;    ///< ns between the decision and the sending
    /// Written by the node. Entry i % kNotes is the note of sweep i, counted from 0. The entry can
    /// be read if i < `sweeps`, until the node begins to write the note of sweep i + kNotes.
    std::array<SweepNote, kNotes> notes;
  };
  static_assert(std::atomic<std::int64_t>::is_always_lock_free);

  /// Creates the file, with mode 600 and all bytes zero, and maps it. kUnavailable: the file
  /// exists, or can't be created or mapped; the message says why.
  static Result<std::unique_ptr<DemoBoard>> Create(const std::string& path, std::uint32_t shards);
  /// Maps a file that Create made. kUnavailable: the file can't be opened or mapped. REQUIRES (not
  /// checked): `shards` is the same as for Create; otherwise the file's size changes.
  static Result<std::unique_ptr<DemoBoard>> Open(const std::string& path, std::uint32_t shards);
  /// Ends the mapping. The file stays.
  ~DemoBoard();
  DemoBoard(const DemoBoard&) = delete;
  DemoBoard& operator=(const DemoBoard&) = delete;

  Head& head() { return *static_cast<Head*>(memory_); }
  const Head& head() const { return *static_cast<const Head*>(memory_); }
  std::span<std::atomic<BoardWord>> words() { return words_; }
  std::span<const std::atomic<BoardWord>> words() const { return words_; }

 private:
  DemoBoard(void* memory, std::uint32_t shards);
  static Result<std::unique_ptr<DemoBoard>> Map(const std::string& path, std::uint32_t shards,
                                                int flags);

  void* const memory_;
  const std::size_t size_;
  const std::span<std::atomic<BoardWord>> words_;
};

}  // namespace baton::app
