// RouteStreams: many callers of WatchRoutes, each on a connection of its own, read by one thread.
//
// One thread at a time may use an object. A wait that exceeds its bound throws std::runtime_error.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/types.h"

namespace baton::bench {

class RouteStreams {
 public:
  /// Returns once every stream has its snapshot.
  RouteStreams(const std::string& address, std::size_t count);
  ~RouteStreams();
  RouteStreams(const RouteStreams&) = delete;
  RouteStreams& operator=(const RouteStreams&) = delete;

  /// From now on, notes when each stream receives a route of this term or a later one.
  void Expect(Term term);
  /// Waits until all have received it: milliseconds since `begun`, by stream, taken before the
  /// message is parsed.
  std::vector<double> Await(TimePoint begun);
  /// The last message that had routes, serialized with `term` for theirs.
  std::string Retold(Term term) const;

 private:
  struct Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace baton::bench
