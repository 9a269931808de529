// StreamPlaces: how many streams that stay open each caller may have, so that it leaves room for
// others, and all of them for operators.
//
// Callers with the role kOperate need no place here: what bounds all streams bounds theirs. Each
// other caller (LimitedAs) has a share, and all of these together have less than all streams.
//
// Thread-safe; waits only for a short lock.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "access/access.h"

namespace baton::access {

class StreamPlaces {
 public:
  struct Bounds {
    std::size_t of_caller;   ///< streams of one caller without the role kOperate
    std::size_t of_readers;  ///< streams of all these callers
  };
  /// Free again once the last copy is gone, which may outlive the StreamPlaces. Null: needs none.
  using Place = std::shared_ptr<const void>;

  explicit StreamPlaces(Bounds bounds);

  /// A place for a stream of this caller, whose role is `role`. nullopt: it has all of its share,
  /// or all who may not operate have theirs.
  std::optional<Place> Take(const Caller& caller, Role role);

 private:
  struct Held;
  const Bounds bounds_;
  const std::shared_ptr<Held> held_;
};

}  // namespace baton::access
