// StreamPlaces: bounds how many open streams each caller may have. So one caller leaves room for
// others, and all callers together leave room for operators.
//
// Callers with the role kOperate need no place: only the server's limit on all streams bounds their
// streams. All other callers have the limits of Bounds. Callers with the same LimitedAs
// (call_limits.h) count as one.
//
// Thread-safe; waits only for a short lock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "access/access.h"

namespace baton::access {

class StreamPlaces {
 public:
  struct Bounds {
    std::size_t of_caller;   ///< streams of one caller without the role kOperate
    std::size_t of_readers;  ///< streams of all callers without kOperate together
  };
  /// Holds a place until the last copy is destroyed. A copy may outlive the StreamPlaces. The
  /// stored pointer is always null, so don't compare a Place with nullptr.
  using Place = std::shared_ptr<const void>;

  explicit StreamPlaces(Bounds bounds);

  /// Takes a place for a stream of this caller, whose role is `role`. Keep the result until the
  /// stream ends. If the role includes kOperate, the result holds no place, and is never nullopt.
  /// nullopt: one of the two bounds is reached, so refuse the stream.
  std::optional<Place> Take(const Caller& caller, Role role);

  struct Counts {
    std::size_t open = 0;       ///< places that are taken now
    std::uint64_t refused = 0;  ///< how often Take returned nullopt
  };
  Counts counts() const;
  const Bounds& bounds() const { return bounds_; }

 private:
  struct Held;
  const Bounds bounds_;
  const std::shared_ptr<Held> held_;
};

}  // namespace baton::access
