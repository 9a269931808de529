// ProgressPage: a page of memory that a node shares with its own guard. The node's loop notes the
// time of its last turn in the page, and the guard reads this time.
//
// The times are of CLOCK_MONOTONIC, which stands still while the host is suspended. Thread-safe,
// except for the destructor.
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
  /// Makes a page. No turn is noted in it yet. kInternal: the system gives no memory or descriptor.
  static Result<std::unique_ptr<ProgressPage>> Create();
  /// Maps a page that another process made. Always closes the descriptor, also on an error. The
  /// page can be read even after the other process has died. kInternal: the descriptor's file can't
  /// be mapped, or is not a ProgressPage.
  static Result<std::unique_ptr<ProgressPage>> Open(int descriptor);
  ~ProgressPage();
  ProgressPage(const ProgressPage&) = delete;
  ProgressPage& operator=(const ProgressPage&) = delete;

  /// Notes that the loop made a turn at this time.
  void Note(SteadyTime turn) noexcept { Time() = turn.time_since_epoch().count(); }
  /// Notes that the loop is not expected to make turns until the next Note.
  void Clear() noexcept { Time() = 0; }
  /// The time of the last turn. nullopt: no turn was noted yet, or Clear was called since.
  std::optional<SteadyTime> Last() const noexcept;

  /// The descriptor to pass to the guard. It is above 2, and close-on-exec. This object closes it.
  /// -1: Open made this object, or other code of this process has closed the descriptor.
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
