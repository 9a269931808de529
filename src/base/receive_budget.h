// ReceiveBudget: bounds what all callers of this process's gRPC ports send together. It ends the
// connections of callers that send too much, and bars these callers for a while (IsBarred).
//
// Some bytes cost gRPC (1.51) far more than others. A call that is begun and reset costs 28 bytes
// on the wire, and some kilobytes of memory until gRPC handles it. A header in small pieces costs
// time that grows with the square of its length. A call that is never over costs some 16 KiB for as
// long as it is open. So there are five bounds:
//   - The bytes of all callers together (`a_second`, `at_once`). Above it, the callers that sent
//     most since the last Weigh lose their connections, until the others are within the bound.
//   - The bytes of one connection for which no call was served (Expected::most). They belong to a
//     call that was begun and not finished, or to no call at all. Above this bound, the
//     connection's caller loses all its connections.
//   - The open calls of one connection (`open_calls`). gRPC's own bound (base/grpc/server_limits.h)
//     binds only clients that have acknowledged it. If a connection is above `open_calls` at two
//     looks of Weigh in a row, its caller loses all its connections. This happens once for a
//     connection.
//   - The growth of this process's memory (`growth`, `growth_in_10_s`, `growth_in_100_s`).
//   - The time that a callback waits (`wait`).
// If one of the last two bounds is exceeded, every suspect loses its connections, because the
// caller that sent most need not be the reason. A suspect is a caller that sent more than a
// harmless amount.
//
// Weigh ends a caller's connections: it shuts all of them down at the socket, and drops the bytes
// that gRPC has not read yet; gRPC then closes them. The caller is barred for kBarred. A warning is
// logged, at most one a minute for all callers.
//
// gRPC owns the connections and tells nobody when one is over. So this object keeps a second
// descriptor of each connection, until the first Weigh after gRPC has closed its own. It reads from
// the second descriptor how many bytes were received. So the bytes of a connection count even if
// the connection is over when Weigh looks.
//
// Thread-safe. Add, IsBarred and Weigh share one lock. Weigh holds it while it asks the kernel
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
  /// Amounts are in bytes. Each bound is itself allowed. REQUIRES (not checked): none is below 0.
  struct Bounds {
    /// A token bucket for the bytes of all callers together: it gains `a_second` each second, and
    /// holds at most `at_once`, which is also its content at first.
    std::int64_t a_second = 32 << 20;
    std::int64_t at_once = 128 << 20;
    /// How much the process's memory may grow within kWindow, 10 s and 100 s. A client that
    /// connects sends some KiB, and costs some 118 KiB of memory with TLS (45 KiB without). So two
    /// thousand may connect within a second.
    std::int64_t growth = 256 << 20;
    std::int64_t growth_in_10_s = 512 << 20;
    std::int64_t growth_in_100_s = 1 << 30;
    // The next three say who is a suspect: they are compared with the bytes that a caller sent in a
    // certain time. After too much growth, this is the time of the growth (1, 10 or 100 s). After
    // too long a wait: the time from kWindow before the wait began until now, but no more than the
    // last 4 s. If there is no suspect then, and the wait is more than three times `wait`, the time
    // is the last 10 s. If there is no suspect then either, and the wait is more than ten times
    // `wait`, the time is the last 100 s.
    /// If all callers together sent more than `harmless_together`, a suspect is each caller that
    /// sent more than this.
    std::int64_t harmless_of_many = 1 << 10;
    std::int64_t harmless_together = 256 << 10;
    /// Otherwise a suspect is each caller that sent more than this.
    std::int64_t harmless = 16 << 10;
    /// How long a callback may wait.
    Duration wait = std::chrono::seconds(1);
    /// The most open calls of one connection. A client that keeps to gRPC's own bound has at most a
    /// quarter of this (kMaxStreamsOfNode).
    std::int32_t open_calls = 64;
  };
  /// The time for which Bounds::growth counts.
  static constexpr std::chrono::seconds kWindow{1};
  /// How many bytes without a served call a connection may receive. A request has at most 64 KiB.
  /// Bytes count as soon as the kernel has them, and up to 32 KiB may wait in the kernel until gRPC
  /// reads them.
  static constexpr std::int64_t kMaxUnserved = 128 << 10;
  // The next constants say how many received bytes of a connection are excused. Excused bytes don't
  // count as bytes without a served call. The bytes that calls and segments can excuse in a given
  // time are bounded. Without this bound, a client could cheaply make many calls or segments, to
  // have room for a header that does not end.
  /// The bytes that each served call excuses: a request has at most 64 KiB, and its headers 8 KiB.
  /// But all calls of one kPeriod together excuse no more than one kOfCall. In addition, outside
  /// this limit, the first kMaxUsualCalls calls of a period excuse kOfUsualCall each, which has
  /// room for a token. The next kMaxQuickCalls excuse kOfQuickCall each. If Weigh comes late, the
  /// time since the last Weigh counts as kMaxPeriods at most.
  static constexpr std::int64_t kOfCall = 72 << 10;
  static constexpr std::int64_t kOfUsualCall = 1 << 10;
  static constexpr std::int64_t kMaxUsualCalls = 100;
  static constexpr std::int64_t kOfQuickCall = 128;
  static constexpr std::int64_t kMaxQuickCalls = 500;
  static constexpr std::chrono::milliseconds kPeriod{100};
  static constexpr double kMaxPeriods = 3;
  /// The bytes that are excused for each TCP segment of data that this process sent. Clients answer
  /// what they receive: gRPC for Go with up to 52 bytes for each piece, other clients with 26 bytes
  /// for some 16 KiB. All segments of a second excuse kOfSegmentsASecond at most, because a client
  /// can make segments as small as it likes.
  static constexpr std::int64_t kOfSegment = 64;
  static constexpr std::int64_t kOfSegmentsASecond = 16 << 10;
  /// One received byte is excused for each kOfSent bytes that the other side has taken from this
  /// process.
  static constexpr std::int64_t kOfSent = 64;
  /// Each second that passes excuses this many received bytes.
  static constexpr std::int64_t kASecond = 64;
  /// How long a caller that lost its connections is barred.
  static constexpr std::chrono::seconds kBarred{10};
  /// The most callers that are barred at once. If one more is barred, the caller whose time is over
  /// first is not barred any more.
  static constexpr std::size_t kMaxBarred = BarredCallers::kMaxCallers;

  /// `resident` returns the memory of this process, in bytes; 0: not known, so growth is not
  /// bounded. Weigh calls it with the lock held. REQUIRES: it neither waits nor calls this object.
  explicit ReceiveBudget(Bounds bounds, std::function<std::int64_t()> resident = ResidentBytes)
      : bounds_(bounds), resident_(std::move(resident)), left_(bounds.at_once) {}
  ReceiveBudget() : ReceiveBudget(Bounds()) {}

  /// Counts what `connection`, a connected socket, receives, until its descriptor is closed. The
  /// caller of Add goes on owning `connection`. Makes a second descriptor of the socket, whose
  /// number must be below `below`. Returns false in these cases:
  ///  - No such number is free, or `connection` is not open.
  ///  - An open connection has the same address and port at its other end (a client that connects
  ///    to two addresses of this host from one port). Nobody could say whose a call is.
  /// Then nothing is counted, and the owner should close the connection. `caller`: any text that
  /// names who connected; all connections with the same text are one caller's. If the text is
  /// empty, or the socket is not TCP's, no bytes of the connection count, but Add still returns
  /// false in the cases above. A connection without `caller` is never ended, unless
  /// Expected::may_stay says so.
  bool Add(int connection, const std::string& caller, int below = LeastReserved()) {
    return Add(connection, caller, below, {});
  }
  struct Expected {
    /// How many bytes the connection may receive that are not excused (see kOfCall and the
    /// constants after it). At most 2^62.
    std::int64_t most = kMaxUnserved;
    /// False: calls of this connection excuse nothing, and other connections may have the same
    /// address and port at their other ends.
    bool calls_count = true;
    /// Once this is true, the connection counts as one without `caller`: its bytes don't count any
    /// more, and only `may_stay` can end it. What Weigh counted before still counts. Null: never
    /// true.
    std::shared_ptr<const std::atomic<bool>> trusted = {};
    /// Weigh calls it with the lock held. Once it returns false, Weigh ends this connection, but
    /// does not bar its caller. Null: the connection may stay. REQUIRES (not checked): it waits
    /// only for short locks, and does not call this object.
    std::function<bool()> may_stay = {};
  };
  /// The same, with `expected` instead of its defaults.
  bool Add(int connection, const std::string& caller, int below, Expected expected);
  /// The calls of one connection.
  struct Calls {
    std::atomic<std::uint32_t> served{0};
    std::atomic<std::int32_t> open{0};
  };
  /// Counts a call that came over the connection of `peer` (grpc::ServerContext::peer). The call is
  /// open from now on. Call this when the call's handler is called. Returns what Over takes; null:
  /// there is no such connection, or its calls don't count. Waits only for a short lock.
  std::shared_ptr<Calls> Served(std::string_view peer);
  /// A call is not open any more. `call`: what Served returned for it; null: does nothing. REQUIRES
  /// (not checked): called once for each call of Served. Lock-free.
  static void Over(const std::shared_ptr<Calls>& call);

  /// Whether this caller lost its connections less than kBarred ago (see kMaxBarred for an
  /// exception). If so, the owner of its new connections should close them; this object does not.
  bool IsBarred(const std::string& caller, TimePoint now) const;

  /// Looks at all connections, and ends those of callers above the bounds. `waited`: for how long a
  /// callback of gRPC has been waiting until now; 0: no callback waits. Call it every 100 ms or so,
  /// on a thread that never waits for gRPC. It asks the kernel a few times for each connection.
  /// REQUIRES: `now` never goes back.
  void Weigh(TimePoint now, Duration waited);

  /// How often a caller lost its connections so far, by the bound that was exceeded. If growth and
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
    std::string address;           // of the other end; empty: its calls don't count
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
    const char* too_much = nullptr;  // why it is ended for one of them
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
  /// Taken after mutex_ by those who need both.
  mutable std::mutex calls_mutex_;
  /// Guarded by calls_mutex_. By the address of the other end, without "ipv4:" or "ipv6:", and
  /// without a zone: the newest connection. Exact: if connections shared counts, the calls of one
  /// would excuse the bytes of another.
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
