// ReceiveBudget: protects this process's gRPC ports from callers that cost too much. It ends the
// connections of such a caller, and bars the caller for a while (IsBarred).
//
// Some bytes cost gRPC 1.51 far more than others: calls that are begun and reset, headers in small
// pieces, calls that are never over. So there are five bounds:
//   - The bytes of all callers together (`a_second`, `at_once`). Above this bound, callers lose
//     their connections until the others are within the bound. The callers that sent most since the
//     last Weigh come first.
//   - The bytes of one connection that belong to no served call (Expected::most). They belong to a
//     call that was begun and not finished, or to no call at all. Above this bound, the
//     connection's caller loses all its connections.
//   - The open calls of one connection (`open_calls`). If two looks of Weigh in a row find a
//     connection above this bound, the connection's caller loses all its connections. This happens
//     at most once for each connection.
//   - The growth of this process's memory (`growth`, `growth_in_10_s`, `growth_in_100_s`).
//   - The time that a callback of gRPC waits (`wait`).
// If one of the last two bounds is exceeded, every suspect loses its connections: the caller that
// sent most need not be the cause. A suspect is a caller that sent more than a harmless amount.
//
// To end a caller's connections, Weigh shuts them down at the socket, and drops the bytes that gRPC
// has not read yet. Then gRPC closes the connections. The caller is barred for kBarred. Weigh logs
// a warning, at most one a minute for all callers.
//
// gRPC owns the connections, and does not say when one is over. So this object keeps a second
// descriptor of each connection, until the first Weigh after gRPC has closed its own. Weigh counts
// the bytes of a connection even if the connection is over by then.
//
// Thread-safe. Add, IsBarred and Weigh share a lock. Weigh holds this lock while it asks the kernel
// about every connection; the kernel answers at once. Served takes another lock, which is never
// held for long. Over and ended() take no lock.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/barred_callers.h"
#include "base/clock.h"
#include "base/descriptors.h"
#include "base/owned_descriptor.h"
#include "base/sent_lately.h"

namespace baton {

class ReceiveBudget {
 public:
  /// Amounts are in bytes. A value equal to a bound is allowed. REQUIRES (not checked): no bound is
  /// below 0.
  struct Bounds {
    /// A token bucket for the bytes of all callers together. It begins with `at_once` bytes, gains
    /// `a_second` each second, and never holds more than `at_once`.
    std::int64_t a_second = 32 << 20;
    std::int64_t at_once = 128 << 20;
    /// How much the process's memory may grow within kWindow, 10 s and 100 s. A client that
    /// connects costs some 118 KiB of memory with TLS (45 KiB without). So two thousand clients may
    /// connect within a second.
    std::int64_t growth = 256 << 20;
    std::int64_t growth_in_10_s = 512 << 20;
    std::int64_t growth_in_100_s = 1 << 30;
    // The next three bounds say who is a suspect. They are compared with the bytes that a caller
    // sent in a certain time. If memory grew too much, this is the time of the growth: 1, 10 or 100
    // s. If a callback waited too long, the time begins kWindow before the wait, but at most 4 s
    // ago. If there is no suspect then, a longer time counts:
    //  - If the callback waited for more than three times `wait`: the last 10 s.
    //  - If it waited for more than ten times `wait`, and there still is no suspect: the last 100
    //    s.
    /// If all callers together sent more than `harmless_together`, each caller that sent more than
    /// `harmless_of_many` is a suspect.
    std::int64_t harmless_of_many = 1 << 10;
    std::int64_t harmless_together = 256 << 10;
    /// Otherwise, each caller that sent more than `harmless` is a suspect.
    std::int64_t harmless = 16 << 10;
    /// How long a callback of gRPC may wait.
    Duration wait = std::chrono::seconds(1);
    /// The most open calls of one connection. A client that keeps to gRPC's own bound
    /// (kMaxStreamsOfNode) has at most a quarter of this.
    std::int32_t open_calls = 64;
  };
  /// The time in which memory may grow by Bounds::growth.
  static constexpr std::chrono::seconds kWindow{1};
  /// How many bytes without a served call a connection may receive. This has room for a request (64
  /// KiB), and for the 32 KiB that may wait in the kernel until gRPC reads them.
  static constexpr std::int64_t kMaxUnserved = 128 << 10;
  // The next constants say how many received bytes of a connection are excused. Excused bytes don't
  // count as bytes without a served call. Calls and segments can excuse only a bounded number of
  // bytes in a given time. So a client can't get room for an endless header by many cheap calls or
  // segments.
  /// The bytes that each served call excuses: a request has at most 64 KiB, and its headers 8 KiB.
  /// But all calls of one kPeriod together excuse at most one kOfCall. In addition, the first
  /// kMaxUsualCalls calls of a period excuse kOfUsualCall each, which has room for a token. The
  /// next kMaxQuickCalls calls excuse kOfQuickCall each. The time since the last Weigh counts as at
  /// least one period, and at most kMaxPeriods.
  static constexpr std::int64_t kOfCall = 72 << 10;
  static constexpr std::int64_t kOfUsualCall = 1 << 10;
  static constexpr std::int64_t kMaxUsualCalls = 100;
  static constexpr std::int64_t kOfQuickCall = 128;
  static constexpr std::int64_t kMaxQuickCalls = 500;
  static constexpr std::chrono::milliseconds kPeriod{100};
  static constexpr double kMaxPeriods = 3;
  /// The bytes that each TCP segment of data excuses if this process sent it. Reason: clients
  /// answer what they receive, for example gRPC for Go with up to 52 bytes for each piece. All
  /// segments of a second excuse at most kOfSegmentsASecond, because a client can make segments as
  /// small as it likes.
  static constexpr std::int64_t kOfSegment = 64;
  static constexpr std::int64_t kOfSegmentsASecond = 16 << 10;
  /// If the other side has taken this many bytes from this process, one received byte is excused.
  static constexpr std::int64_t kOfSent = 64;
  /// Each second excuses this many received bytes.
  static constexpr std::int64_t kASecond = 64;
  /// How long a caller is barred after it lost its connections.
  static constexpr std::chrono::seconds kBarred{10};
  /// The most callers that are barred at once. If one more is barred, the caller whose time ends
  /// first is not barred any more.
  static constexpr std::size_t kMaxBarred = BarredCallers::kMaxCallers;

  /// `resident` returns the memory of this process, in bytes; 0: not known, so growth is not
  /// bounded. Weigh calls `resident` with the lock held. REQUIRES (not checked): `resident` neither
  /// waits nor calls this object.
  explicit ReceiveBudget(Bounds bounds, std::function<std::int64_t()> resident = ResidentBytes)
      : bounds_(bounds), resident_(std::move(resident)), left_(bounds.at_once) {}
  ReceiveBudget() : ReceiveBudget(Bounds()) {}

  /// Counts the bytes that `connection`, a connected socket, receives until its descriptor is
  /// closed. The caller of Add goes on owning `connection`. Makes a second descriptor of the
  /// socket, with a number below `below`. Returns false in these cases:
  ///  - No number below `below` is free, or `connection` is not open.
  ///  - Another open connection has the same address and port at its other end, so nobody could say
  ///    whose a call is. (A client can connect from one port to two addresses of this host.)
  /// If Add returns false, nothing is counted, and the owner should close the connection. `caller`:
  /// any text that names who connected. All connections with the same text are one caller's. If
  /// `caller` is empty, or the socket is not a TCP socket, the bytes of the connection don't count.
  /// Add still returns false in the cases above. If `caller` is empty, only Expected::may_stay can
  /// end the connection.
  bool Add(int connection, const std::string& caller, int below = LeastReserved()) {
    return Add(connection, caller, below, {});
  }
  struct Expected {
    /// How many bytes that are not excused the connection may receive (see kOfCall and the
    /// constants after it). REQUIRES (not checked): at most 2^62.
    std::int64_t most = kMaxUnserved;
    /// False: calls of this connection excuse nothing, and `open_calls` does not bound them. Then
    /// other connections may have the same address and port at their other ends.
    bool calls_count = true;
    /// Once this is true, Weigh counts no more bytes of the connection, and only `may_stay` can end
    /// it. Bytes that Weigh counted before still count. Null: never true.
    std::shared_ptr<const std::atomic<bool>> trusted = {};
    /// Weigh calls this function with the lock held. Once it returns false, Weigh ends this
    /// connection, but does not bar its caller. Null: the connection may stay. REQUIRES (not
    /// checked): the function waits only for short locks, and does not call this object.
    std::function<bool()> may_stay = {};
  };
  /// Like the other Add, with `expected` instead of its defaults.
  bool Add(int connection, const std::string& caller, int below, Expected expected);
  /// The calls of one connection.
  struct Calls {
    std::atomic<std::uint32_t> served{0};
    std::atomic<std::int32_t> open{0};
  };
  /// Counts a call that came over the connection of `peer` (grpc::ServerContext::peer). The call is
  /// open from now on. Call this when gRPC calls the call's handler. Returns the argument for Over.
  /// Null: there is no such connection, or its calls don't count. Waits only for a short lock.
  std::shared_ptr<Calls> Served(std::string_view peer);
  /// Counts the call as not open any more. `call`: the result of Served; null: does nothing.
  /// REQUIRES (not checked): called once for each call of Served. Lock-free.
  static void Over(const std::shared_ptr<Calls>& call);

  /// Whether this caller lost its connections less than kBarred ago (kMaxBarred says when this is
  /// false all the same). If true, the owner of a new connection of this caller should close it.
  bool IsBarred(const std::string& caller, TimePoint now) const;

  /// Looks at all connections, and ends those of callers above the bounds. `waited`: for how long a
  /// callback of gRPC has been waiting until now; 0: no callback waits. Call Weigh every 100 ms or
  /// so, on a thread that never waits for gRPC. REQUIRES (not checked): `now` never goes back.
  void Weigh(TimePoint now, Duration waited);

  /// How often callers lost their connections so far, by the bound that was exceeded. If growth and
  /// wait were exceeded at once, growth counts. Connections that Expected::may_stay ended don't
  /// count. Any thread.
  struct Ended {
    /// By the bytes of all callers, or of one connection.
    std::atomic<std::uint64_t> for_bytes{0};
    std::atomic<std::uint64_t> for_calls{0};  ///< by the open calls of one connection
    std::atomic<std::uint64_t> for_memory{0};
    std::atomic<std::uint64_t> for_time{0};
  };
  const Ended& ended() const { return ended_; }

  /// The resident memory of this process now, in bytes; 0 if the system does not say.
  static std::int64_t ResidentBytes();

 private:
  struct Held {
    std::string caller;
    OwnedDescriptor second;  // of the same socket
    dev_t device;            // this and the next name the socket
    ino_t file;
    std::int64_t most;                                 // see Expected
    std::int64_t left;                                 // of `most`
    std::shared_ptr<const std::atomic<bool>> trusted;  // see Expected
    std::function<bool()> may_stay;                    // see Expected
    std::string address;           // of the other end; empty: calls of the connection don't count
    std::shared_ptr<Calls> calls;  // null: they don't count
    bool ended_for_calls = false;
    // When Weigh last looked:
    std::uint32_t served = 0;    // calls
    bool many_calls = false;     // above Bounds::open_calls
    std::int64_t received = 0;   // bytes
    std::int64_t taken = 0;      // bytes that the other side took
    std::uint32_t segments = 0;  // in which they were sent
  };
  using HeldByDescriptor = std::unordered_map<int, Held>;

  struct Sender {
    std::int64_t sent = 0;           // since Weigh last looked
    std::vector<int> sockets;        // of its connections
    const char* too_much = nullptr;  // why its connections are ended; null: they are not
  };
  using Senders = std::unordered_map<std::string, Sender>;

  static bool IsCounted(const Held& connection);
  /// Whether a known connection with this address at its other end is open.
  bool IsTaken(const std::string& address) const;
  Senders Count(Duration passed);
  /// Adds what the connection received since Weigh last looked, `passed` ago.
  Sender& Record(Held& connection, Senders& senders, Duration passed);
  void Forget(HeldByDescriptor::iterator held, Duration passed);
  /// Returns those in `sent` that are suspects (see Bounds). `sent`: what each caller sent in the
  /// time that counts.
  SentLately::SentByCaller Suspects(SentLately::SentByCaller sent) const;
  struct Trouble {
    const char* why;
    std::int64_t sent;  // by the caller, bytes
  };
  static std::vector<Senders::iterator> ByMostSent(Senders& senders);
  void EndSuspects(Senders& senders, TimePoint now, Duration waited);
  void EndForBytes(Senders& senders, Senders::iterator sender, const char* why, TimePoint now);
  void End(const std::string& caller, const std::vector<int>& connections, const Trouble& trouble,
           TimePoint now);

  const Bounds bounds_;
  const std::function<std::int64_t()> resident_;

  mutable std::mutex mutex_;
  HeldByDescriptor held_;
  Senders ended_before_;  // what connections sent that ended since Weigh last looked
  BarredCallers barred_;
  bool HasTooManyCalls(Held& connection) const;

  struct Counted {
    std::shared_ptr<Calls> calls;
    int connection;  // in held_
  };
  /// A thread that takes both locks takes mutex_ first.
  mutable std::mutex calls_mutex_;
  /// Guarded by calls_mutex_. The newest connection, by the address of its other end without
  /// "ipv4:", "ipv6:" and zone. Connections never share counts: otherwise the calls of one would
  /// excuse the bytes of another.
  std::unordered_map<std::string, Counted> calls_;
  std::int64_t left_;  // of the budget of bytes
  TimePoint weighed_at_{};
  SentLately second_{std::chrono::seconds(4), Duration(0)};
  SentLately ten_seconds_{std::chrono::seconds(10), std::chrono::seconds(1)};
  SentLately hundred_seconds_{std::chrono::seconds(100), std::chrono::seconds(10)};
  TimePoint quiet_until_{};
  Ended ended_;
};

}  // namespace baton
