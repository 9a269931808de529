// ReceiveBudget: bounds what callers of this process's gRPC ports send together. It ends
// connections of callers that send too much, and keeps these callers away for a while.
//
// Some bytes cost gRPC (1.51) far more than others. A call that is begun and reset costs 28 bytes
// on the wire, and some kilobytes of memory until its turn comes. A header in small pieces costs
// time that grows with the square of its length. So there are four bounds:
//   - The bytes of all callers together (`a_second`, `at_once`). Above it, the callers that sent
//     most since the last Weigh lose their connections, until the others are within the bound.
//   - The bytes of one connection for which no call was served (Add's `most`). They are a call that
//     was begun and not finished, or no call at all. Above it, the caller loses its connections.
//   - The growth of this process's memory (`growth` and the next two), and the time that callbacks
//     wait (`wait`). Above one of these, every suspect loses its connections, because the caller
//     that sent most need not be the reason. A suspect is a caller that sent more than a harmless
//     amount.
//
// A caller that loses its connections is barred for kBarred. All its connections are shut down at
// the socket, what the kernel has of them is dropped, and gRPC then closes them. A warning is
// logged, at most one a minute.
//
// gRPC owns the connections and tells nobody when one is over. So this object keeps a second
// descriptor of each connection. Weigh checks whether the first descriptor is still the same file,
// and reads from the second one how many bytes were received. So bytes also count if their
// connection is over when Weigh looks.
//
// Thread-safe. Add, IsBarred and Weigh share one lock. Weigh holds it while it asks the kernel
// about every connection; the kernel answers at once.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

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
    /// How much the process may grow within kWindow. A client that connects sends some KiB, and
    /// costs some 118 KiB of memory with TLS (45 KiB without). So two thousand may connect within a
    /// second.
    std::int64_t growth = 256 << 20;
    std::int64_t growth_in_10_s = 512 << 20;
    std::int64_t growth_in_100_s = 1 << 30;
    /// A caller is a suspect if it sent more than `harmless`. But if all callers together sent more
    /// than `harmless_together`, `harmless_of_many` counts instead. After growth, the bytes of the
    /// same time count. After a wait, the bytes since kWindow before the wait began count, but
    /// none from more than 4 s ago. If no caller is a suspect then, and the wait is three times too
    /// long, the bytes of the last 10 s count; if it is ten times too long, those of the last 100
    /// s.
    std::int64_t harmless_of_many = 1 << 10;
    std::int64_t harmless_together = 256 << 10;
    std::int64_t harmless = 16 << 10;
    /// How long a callback may wait.
    Duration wait = std::chrono::seconds(1);
  };
  /// The time for which Bounds::growth counts.
  static constexpr std::chrono::seconds kWindow{1};
  /// What a connection may receive for which no call was served: three requests' worth, as the
  /// kernel keeps up to 128 KiB that gRPC has not read.
  static constexpr std::int64_t kMostUnserved = 256 << 10;
  static constexpr std::int64_t kNoBound = std::int64_t{1} << 62;
  /// A request has at most 64 KiB, and its headers 8 KiB.
  static constexpr std::int64_t kOfCall = 72 << 10;
  /// Clients answer what they receive: gRPC's for Go with up to 52 bytes for each piece, others
  /// with 26 bytes for some 16 KiB.
  static constexpr std::int64_t kOfSegment = 64;
  static constexpr std::int64_t kOfSent = 64;  ///< so many bytes account for one
  static constexpr std::int64_t kASecond = 64;
  /// How long a caller that lost its connections is barred.
  static constexpr std::chrono::seconds kBarred{10};
  /// Of how many callers it is known that they are barred. Above that, those are forgotten whose
  /// time is over first.
  static constexpr std::size_t kMaxBarred = 4'096;

  /// `resident` returns the memory of this process, in bytes; 0: not known, so growth is not
  /// bounded. Weigh calls it with the lock held. REQUIRES: it doesn't wait or call this object.
  explicit ReceiveBudget(Bounds bounds, std::function<std::int64_t()> resident = ResidentBytes)
      : bounds_(bounds), resident_(std::move(resident)), left_(bounds.at_once) {}
  ReceiveBudget() : ReceiveBudget(Bounds()) {}

  /// Counts what `connection`, a connected socket, receives, until its descriptor is closed. The
  /// caller of Add goes on owning `connection`. Takes one more descriptor, whose number must be
  /// below `below`. False: there is no such descriptor, or `connection` is not open; nothing is
  /// counted, and the connection should be closed. `caller`: any text that names who connected. If
  /// it is empty, or the socket is not TCP's, the result is true, but no bytes are counted, and the
  /// connection is never ended.
  bool Add(int connection, const std::string& caller, int below = LeastReserved()) {
    return Add(connection, caller, below, {});
  }
  struct Expected {
    /// How many bytes the connection may receive for which no call was served. Each call accounts
    /// for kOfCall of them (see Served), what the other side took from this process for some (see
    /// kOfSegment), and each second for kASecond. At most kNoBound.
    std::int64_t most = kMostUnserved;
    bool calls_count = true;  ///< false: calls of this connection account for nothing
  };
  /// The same, with `expected` instead of its defaults.
  bool Add(int connection, const std::string& caller, int below, Expected expected);
  /// A call came over the connection of this peer (grpc::ServerContext::peer), and its handler is
  /// called. Lock-free; any thread.
  void Served(std::string_view peer);

  /// Whether this caller lost its connections less than kBarred ago. If so, the owner of its new
  /// connections should close them; this object does not.
  bool IsBarred(const std::string& caller, TimePoint now) const;

  /// Looks at all connections, and ends those of callers above the bounds. `waited`: for how long a
  /// callback of gRPC has been waiting; 0: none waits. Call it every 100 ms or so, on a thread that
  /// never waits for gRPC. It asks the kernel a few times for each connection. REQUIRES: `now`
  /// never goes back.
  void Weigh(TimePoint now, Duration waited);

  /// How often a caller had to lose its connections so far, by the bound that was exceeded. If
  /// growth and wait were exceeded at once, growth counts. Any thread.
  struct Ended {
    std::atomic<std::uint64_t> for_bytes{0};
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
    std::int64_t most;               // see Expected
    std::int64_t left;               // of `most`
    std::optional<std::size_t> key;  // in served_; unset: its calls don't count
    // When Weigh last looked:
    std::uint32_t served;        // calls of this key
    std::int64_t received = 0;   // bytes
    std::int64_t taken = 0;      // bytes that the other side took
    std::uint32_t segments = 0;  // in which they were sent
  };
  using HeldByDescriptor = std::unordered_map<int, Held>;

  struct Sender {
    std::int64_t sent = 0;     // since Weigh last looked
    std::vector<int> sockets;  // of its connections
    bool too_much = false;     // by one of them
  };
  using Senders = std::unordered_map<std::string, Sender>;

  Senders Count(Duration passed);
  /// Adds what the connection received since Weigh last looked, `passed` ago.
  Sender& Record(Held& connection, Senders& senders, Duration passed);
  void Forget(HeldByDescriptor::iterator held);
  /// Of the callers who may be the reason for growth or waiting, those that sent too much since
  /// then.
  SentLately::SentByCaller Suspects(SentLately::SentByCaller sent) const;
  struct Trouble {
    const char* why;
    std::int64_t sent;  // by the caller, bytes
  };
  void EndSuspects(Senders& senders, TimePoint now, Duration waited);
  void EndForBytes(Senders& senders, Senders::iterator sender, const char* why, TimePoint now);
  void End(const std::string& caller, const std::vector<int>& connections, const Trouble& trouble,
           TimePoint now);

  const Bounds bounds_;
  const std::function<std::int64_t()> resident_;

  mutable std::mutex mutex_;
  HeldByDescriptor held_;
  Senders ended_before_;  // what connections sent that ended since Weigh last looked
  std::unordered_map<std::string, TimePoint> barred_until_;
  /// Of the address of a connection's other end, without "ipv4:" or "ipv6:". Another peer may have
  /// the same key by chance, and nobody can choose one that has.
  std::size_t KeyOf(std::string_view address) const;

  using Counts = std::array<std::atomic<std::uint32_t>, 1 << 16>;
  const std::unique_ptr<Counts> served_ = std::make_unique<Counts>();  // calls, by key
  const std::uint64_t secret_ = std::random_device()() | std::uint64_t{std::random_device()()}
                                                             << 32;
  std::int64_t left_;  // of the budget of bytes
  TimePoint weighed_at_{};
  SentLately second_{std::chrono::seconds(4), Duration(0)};
  SentLately ten_seconds_{std::chrono::seconds(10), std::chrono::seconds(1)};
  SentLately hundred_seconds_{std::chrono::seconds(100), std::chrono::seconds(10)};
  TimePoint quiet_until_{};
  Ended ended_;
};

}  // namespace baton
