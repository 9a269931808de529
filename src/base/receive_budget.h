// ReceiveBudget: bounds what callers of this process's gRPC ports send together. It ends
// connections of callers that send too much, and keeps these callers away for a while.
//
// Some bytes cost gRPC (1.51) far more than others. A call that is begun and reset costs 28 bytes
// on the wire, and some kilobytes until its turn comes; a header in small pieces costs time that
// grows with its square. So there are three bounds: the bytes of all callers together; how much
// this process's memory may grow within a second; and how long its callbacks may wait. Above the
// first, the callers that sent most lose their connections. Above the others, all callers do that
// sent more than a little, or than very little if they sent much together: who sent most need not
// be the reason. A connection of which little is expected can have a bound of its own.
//
// gRPC owns the connections and tells nobody when one is over. So this has a second descriptor of
// each. From time to time Weigh looks whether the first still is the same file, and reads from the
// second what was received. So it also knows what a connection received that is over.
//
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/descriptors.h"
#include "base/owned_descriptor.h"

namespace baton {

class ReceiveBudget {
 public:
  /// In bytes. A client that connects sends some KiB, and costs some 118 KiB of memory with TLS
  /// (45 KiB without), so two thousand may connect within a second.
  struct Bounds {
    std::int64_t a_second = 32 << 20;
    std::int64_t at_once = 128 << 20;
    /// How much the process may grow within kWindow.
    std::int64_t growth = 256 << 20;
    /// A caller that sent no more is not suspected: of growth by what it sent within kWindow, of a
    /// wait by what it sent since kWindow before the wait began, 4 s at most. The first number is
    /// for times in which all together sent more than the second.
    std::int64_t harmless_of_many = 1 << 10;
    std::int64_t harmless_together = 256 << 10;
    std::int64_t harmless = 16 << 10;
    /// How long a callback may wait.
    Duration wait = std::chrono::seconds(1);
  };
  static constexpr std::chrono::seconds kWindow{1};
  static constexpr std::chrono::seconds kBarred{10};
  /// Of how many callers it is known that they are barred. Above that, those are forgotten whose
  /// time is over first.
  static constexpr std::size_t kMaxBarred = 4'096;

  /// `resident`: the memory of this process, in bytes; called by Weigh.
  explicit ReceiveBudget(Bounds bounds, std::function<std::int64_t()> resident = ResidentBytes)
      : bounds_(bounds), resident_(std::move(resident)), left_(bounds.at_once) {}
  ReceiveBudget() : ReceiveBudget(Bounds()) {}

  /// Counts what `connection`, a connected socket, receives, until its descriptor is closed. Takes
  /// one more descriptor, whose number is below `below`. An empty `caller` may send as much as it
  /// likes. If this connection alone receives more than `most` bytes, its caller loses all of
  /// them. Returns false if there is no such descriptor, or `connection` is not open. Of a socket
  /// that is not TCP's, nothing is counted.
  bool Add(int connection, const std::string& caller, int below = LeastReserved(),
           std::int64_t most = std::numeric_limits<std::int64_t>::max());

  /// Whether this caller lost its connections within kBarred. Its new ones should be closed then.
  bool IsBarred(const std::string& caller, TimePoint now) const;

  /// Looks at all connections. `waited`: for how long a callback of gRPC has been waiting. Call it
  /// every 100 ms or so, on a thread that never waits for gRPC. It asks the kernel a few times for
  /// each connection. `now` must not go back.
  void Weigh(TimePoint now, Duration waited);

  /// How often callers had to lose their connections so far.
  struct Ended {
    std::atomic<std::uint64_t> for_bytes{0};
    std::atomic<std::uint64_t> for_memory{0};
    std::atomic<std::uint64_t> for_time{0};
  };
  const Ended& ended() const { return ended_; }

  /// What this process has in memory now, in bytes; 0 if the system does not say.
  static std::int64_t ResidentBytes();

 private:
  struct Held {
    std::string caller;
    OwnedDescriptor second;  // of the same socket
    dev_t device;            // this and the next name the socket
    ino_t file;
    std::int64_t most;          // it may receive, in bytes
    std::int64_t received = 0;  // bytes, when Weigh last looked
  };
  using HeldByDescriptor = std::unordered_map<int, Held>;

  struct Sender {
    std::int64_t sent = 0;     // since Weigh last looked
    std::vector<int> sockets;  // of its connections
    bool too_much = false;     // by one of them
  };
  using Senders = std::unordered_map<std::string, Sender>;

  /// What Weigh saw.
  struct Look {
    TimePoint at;
    std::int64_t resident;
    std::unordered_map<std::string, std::int64_t> sent;  // by caller, since the look before
  };

  Senders Count();
  /// Adds what the connection received since Weigh last looked.
  static Sender& Record(Held& connection, Senders& senders);
  void Forget(HeldByDescriptor::iterator held);
  /// By how much the process has grown within kWindow.
  std::int64_t Growth(TimePoint now, std::int64_t resident);
  /// The callers who may be the reason for growth or waiting, with what they sent since then.
  std::unordered_map<std::string, std::int64_t> Suspects(TimePoint since) const;
  struct Trouble {
    const char* why;
    std::int64_t sent;  // by the caller, bytes
  };
  void EndForBytes(Senders& senders, Senders::iterator sender, const char* why, TimePoint now);
  void End(const std::string& caller, const std::vector<int>& connections, const Trouble& trouble,
           TimePoint now);

  const Bounds bounds_;
  const std::function<std::int64_t()> resident_;

  mutable std::mutex mutex_;
  HeldByDescriptor held_;
  Senders ended_before_;  // what connections sent that ended since Weigh last looked
  std::unordered_map<std::string, TimePoint> barred_until_;
  std::int64_t left_;  // of the budget of bytes
  TimePoint weighed_at_{};
  std::deque<Look> looks_;  // of the last seconds
  TimePoint quiet_until_{};
  Ended ended_;
};

}  // namespace baton
