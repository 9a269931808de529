// ConnectionShares: decides which callers get one more gRPC connection, so that nobody holds all of
// them, and ends connections of callers that send too much.
//
// A caller is what access::LimitedAs says when it connects: a user of this host, or another host's
// address. Certificates and tokens come later, so they don't tell callers apart here. While any
// place is free, a caller gets its first connection. A caller that has n connections gets one more
// if n < kTimesFree * f. Here f is the number of free places, this one included, as counted from
// the descriptors in use. So one caller alone has about three quarters of the places at most, and
// many together leave some to others. Users of this host with the role kOperate are not limited and
// not counted; only they get the last places.
//
// gRPC (1.51) reads what callers send on any thread that waits for it, etcd's too, and goes on with
// one connection while more comes. Eight callers that sent without a pause, 700 MB in a second,
// took a node's lease. So all callers with a share have a budget of bytes together. Above it the
// connections that sent most are ended, and their callers get no connection for kBarred. What a
// connection sent that is over before Weigh looks is not known, so it does not count.
//
// gRPC owns the connections and tells nobody when one is over. So this remembers the file of each
// descriptor, and looks from time to time whether the descriptor still is that file. If gRPC closes
// a connection in the very moment in which it is ended here, a new connection of this process that
// got its number ends instead: etcd's, at worst, which is opened again.
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

namespace baton::app {

/// What all callers with a share may send together, in bytes. The default is far more than ten
/// thousand clients need that connect at once by TLS.
struct ReceiveBudget {
  std::int64_t a_second = 32 << 20;
  std::int64_t at_once = 128 << 20;
};

class ConnectionShares {
 public:
  static constexpr int kTimesFree = 3;
  static constexpr std::chrono::seconds kBarred{10};

  /// REQUIRES: `access` is not null.
  explicit ConnectionShares(std::shared_ptr<const access::Access> access, ReceiveBudget budget = {})
      : access_(std::move(access)), budget_(budget), left_(budget.at_once) {}

  struct Newcomer {
    int connection = -1;  ///< a connected socket
    int free = 0;         ///< see ConnectionListener::Serve
  };
  /// Whether this caller gets the new connection. If so, counts it until its descriptor is closed,
  /// which may be noticed 200 ms late. kShare: the caller has its share, which is
  /// logged at most once a minute for all callers together; or Weigh has ended one of its
  /// connections within kBarred. kNoPlace: no place is free, or `connection` is not open. `now`
  /// must not go back.
  ConnectionListener::Served Admit(const Newcomer& newcomer, const access::Caller& caller,
                                   TimePoint now);

  /// Ends the connections that have sent most since the last call, if callers with a share have
  /// sent more than their budget. Returns how many it ended. It reads a counter of the kernel for
  /// each connection. `now` must not go back.
  int Weigh(TimePoint now);

 private:
  struct Held {
    std::string caller;
    dev_t device;  // this and the next name the socket
    ino_t file;
    std::int64_t received = 0;  // bytes, when Weigh last looked
  };
  using HeldByDescriptor = std::unordered_map<int, Held>;

  struct Sender {
    int descriptor;
    std::int64_t sent;  // bytes since Weigh last looked
  };

  bool IsBarred(const std::string& caller, TimePoint now) const;
  bool HasShare(const Newcomer& newcomer, const std::string& caller) const;
  /// What each connection has sent since the last call. Forgets connections that are over.
  std::vector<Sender> Senders();
  void End(const Sender& sender, TimePoint now);
  void Forget(HeldByDescriptor::const_iterator held);
  /// Forgets connections that are over, and counts the open descriptors that are not in held_.
  void Look(const Newcomer& newcomer);

  const std::shared_ptr<const access::Access> access_;
  HeldByDescriptor held_;                                   // of callers with a share
  std::unordered_map<std::string, std::size_t> of_caller_;  // how many of held_ each caller has
  int others_ = 0;       // open descriptors that are not in held_, when Look last counted them
  TimePoint look_at_{};  // Look is not called before this time
  TimePoint quiet_until_{};

  const ReceiveBudget budget_;
  std::int64_t left_;  // of the budget
  TimePoint weighed_at_{};
  std::unordered_map<std::string, TimePoint> barred_until_;
  TimePoint quiet_about_ends_until_{};
};

}  // namespace baton::app
