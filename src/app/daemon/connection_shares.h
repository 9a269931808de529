// ConnectionShares: decides which callers get one more gRPC connection, so that nobody holds all of
// them.
//
// A caller is what access::LimitedAs says when it connects: a user of this host, or another host's
// address. Certificates and tokens come later, so they don't tell callers apart here. While any
// place is free, a caller gets its first connection. A caller that has n connections gets one more
// if n < kTimesFree * f. Here f is how many more connections there are places for, the new one
// included: the free descriptors divided by kDescriptors. So one caller alone has about three
// quarters of the places at most, and many together leave some to others. Users of this host with
// the role kOperate are not limited and not counted; only they get the last places
// (ConnectionListener::kLastPlaces). A user who loses the role loses these connections with the
// next look at the budget, and may connect again as everybody else. What callers send is bounded by
// base/receive_budget.h, which takes the second descriptor of each connection. It may bar a caller;
// then the caller gets no connection, not even a first one.
//
// gRPC owns the connections and tells nobody when one is over. So this class remembers the file of
// each descriptor, and looks from time to time whether the descriptor still is that file.
//
// Not thread-safe.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "access/access.h"
#include "app/daemon/connection_listener.h"
#include "base/clock.h"
#include "base/receive_budget.h"

namespace baton::app {

class ConnectionShares {
 public:
  static constexpr int kTimesFree = 3;
  static constexpr int kDescriptors = 2;  ///< how many a connection takes

  /// Adds each connection that it admits to `budget`. REQUIRES: no pointer is null.
  ConnectionShares(std::shared_ptr<const access::Access> access,
                   std::shared_ptr<ReceiveBudget> budget)
      : access_(std::move(access)), budget_(std::move(budget)) {}

  struct Newcomer {
    int connection = -1;  ///< a connected socket
    int free = 0;         ///< see ConnectionListener::Serve
  };
  /// Whether this caller gets the new connection. If so, counts it until its descriptor is closed;
  /// a later Admit may notice that 200 ms late. kShare: the budget bars the caller for what it
  /// sent; or the caller has its share, which is logged at most once a minute for all callers
  /// together. kNoPlace: no place is free, no descriptor is left for the budget, or `connection` is
  /// not open. Never closes `connection`. `now` must not go back.
  ConnectionListener::Served Admit(const Newcomer& newcomer, const access::Caller& caller,
                                   TimePoint now);

 private:
  struct Held {
    std::string caller;
    dev_t device;  // this and the next name the socket
    ino_t file;
  };
  using HeldByDescriptor = std::unordered_map<int, Held>;

  bool HasShare(const Newcomer& newcomer, const std::string& caller) const;
  void Forget(HeldByDescriptor::const_iterator held);
  /// Forgets connections that are over, and counts the open descriptors that are not in held_.
  void Look(const Newcomer& newcomer);

  const std::shared_ptr<const access::Access> access_;
  const std::shared_ptr<ReceiveBudget> budget_;
  HeldByDescriptor held_;                                   // of callers with a share
  std::unordered_map<std::string, std::size_t> of_caller_;  // how many of held_ each caller has
  int others_ = 0;       // open descriptors that are not in held_, when Look last counted them
  TimePoint look_at_{};  // Look is not called before this time
  TimePoint quiet_until_{};
};

}  // namespace baton::app
