// ConnectionShares: decides which callers get one more gRPC connection, so that nobody holds all of
// them.
//
// access::LimitedAs tells callers apart when the connection comes: as a user of this host, or as
// another host's address. Certificates and tokens come later, so they make no difference here.
//  - While any place is free, a caller gets its first connection.
//  - A caller with n connections gets one more if n < kTimesFree * f. Here f is the number of free
//    descriptors divided by kDescriptors, including those of the new connection. So one caller
//    alone has about three quarters of the places at most. Many callers together leave some places
//    to others.
//  - Users of this host with the role kOperate are not limited and not counted. Only these users
//    get the last places (ConnectionListener::kLastPlaces). If a user loses the role, the next
//    ReceiveBudget::Weigh ends the user's connections. The user may then connect again, with a
//    share like everybody else.
//
// ReceiveBudget (base/receive_budget.h) bounds how much callers send. It takes the second
// descriptor of each connection. A caller that ReceiveBudget bars gets no connection, not even a
// first one.
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

  /// Adds each admitted connection to `budget`. REQUIRES (not checked): no pointer is null.
  ConnectionShares(std::shared_ptr<const access::Access> access,
                   std::shared_ptr<ReceiveBudget> budget)
      : access_(std::move(access)), budget_(std::move(budget)) {}

  struct Newcomer {
    int connection = -1;  ///< a connected socket
    int free = 0;         ///< see ConnectionListener::Serve
  };
  /// Decides whether this caller gets the new connection. Never closes the connection.
  ///  - kTaken: yes. The connection counts until its descriptor is closed; a later Admit may notice
  ///    the close up to 200 ms late.
  ///  - kShare: the caller has its share, or the budget bars the caller because of what it sent. If
  ///    callers have their share, the log says so at most once a minute.
  ///  - kNoPlace: no place is free, `connection` is not open, or ReceiveBudget::Add refuses it. Add
  ///    refuses if no descriptor is left, or if an open connection has the same address and port.
  /// REQUIRES (not checked): `now` never goes back.
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
