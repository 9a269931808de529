// ProgressPage: a page of memory that a node shares with its own guard. The node's loop notes in it
// when it last made a turn, and the guard reads this time.
//
// The times are of CLOCK_MONOTONIC, which stands still while the host is suspended. Any thread.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

#include "baton/result.h"

namespace baton::runtime {

using SteadyTime = std::chrono::steady_clock::time_point;

class ProgressPage {
 public:
  /// Makes a page in which nothing is noted. kInternal: the system gives no memory or descriptor.
  static Result<std::unique_ptr<ProgressPage>> Create();
  /// Maps the page of another process, and closes the descriptor, also on an error. kInternal: the
  /// descriptor's file can't be mapped, or is no such page.
  static Result<std::unique_ptr<ProgressPage>> Open(int descriptor);
  ~ProgressPage();
  ProgressPage(const ProgressPage&) = delete;
  ProgressPage& operator=(const ProgressPage&) = delete;

  /// The loop made a turn.
  void Note(SteadyTime turn) noexcept { Time() = turn.time_since_epoch().count(); }
  /// No turns are expected from now on.
  void Clear() noexcept { Time() = 0; }
  /// The last turn; nullopt: no turn was noted, or no turn is expected.
  std::optional<SteadyTime> Last() const noexcept;

  /// The descriptor to pass to the guard. It is above 2, and closed on exec. This object owns it.
  /// -1: Open made this page, or other code of this process has closed the descriptor (its number
  /// may now be another file's).
  int descriptor() const;

 private:
  struct Content {
    std::int64_t magic;
    std::int64_t time;
  };
  ProgressPage(int descriptor, Content* content);
  static Result<Content*> Map(int descriptor);
  std::atomic_ref<std::int64_t> Time() const noexcept { return std::atomic_ref(content_->time); }

  const int descriptor_;
  Content* const content_;
  dev_t device_ = 0;  ///< of the descriptor's file
  ino_t inode_ = 0;
};

}  // namespace baton::runtime
