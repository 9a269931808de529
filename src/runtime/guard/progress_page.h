// ProgressPage: a page of memory that a node shares with its own guard. The node's loop notes in it
// when it last made a turn, and the guard reads that.
//
// The times are of CLOCK_MONOTONIC, which stands still while the host is suspended. Any thread.
#pragma once

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
  /// A new page, of which nothing is noted. kInternal: the system has no memory or descriptor.
  static Result<std::unique_ptr<ProgressPage>> Create();
  /// The page of another process, by a descriptor of it, which this closes. kInternal: it can't be
  /// mapped.
  static Result<std::unique_ptr<ProgressPage>> Open(int descriptor);
  ~ProgressPage();
  ProgressPage(const ProgressPage&) = delete;
  ProgressPage& operator=(const ProgressPage&) = delete;

  void Note(SteadyTime turn) noexcept { Time() = turn.time_since_epoch().count(); }
  /// No turns are made from now on, and none are missed.
  void Clear() noexcept { Time() = 0; }
  /// The last turn; nullopt: none is expected.
  std::optional<SteadyTime> Last() const noexcept;

  /// To pass on. Closed on exec; -1 if this page is another process's.
  int descriptor() const { return descriptor_; }

 private:
  ProgressPage(int descriptor, std::int64_t* time) : descriptor_(descriptor), time_(time) {}
  static Result<std::int64_t*> Map(int descriptor);
  std::atomic_ref<std::int64_t> Time() const noexcept { return std::atomic_ref(*time_); }

  const int descriptor_;
  std::int64_t* const time_;  ///< in the page
};

}  // namespace baton::runtime
