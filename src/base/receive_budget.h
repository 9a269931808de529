// ReceiveBudget: bounds what callers of this process's gRPC ports send together. It ends
// connections of callers that send too much, and keeps these callers away for a while.
//
// gRPC (1.51) reads what callers send on any thread that waits for it, and goes on with one
// connection while more comes. Some frames cost it far more than their bytes: a call that is begun
// and reset costs 28 bytes on the wire, and some kilobytes until its turn comes. So there are two
// bounds: the bytes of all callers together, and how much this process's memory may grow within a
// second in which somebody sends. Above the first, the callers that sent most lose their
// connections; above the second, all that sent at least half as much as the one that sent most.
//
// gRPC owns the connections and tells nobody when one is over. So this has a second descriptor of
// each. From time to time Weigh looks whether the first still is the same file, and reads from the
// second what was received, at last of a connection that is over, too.
//
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/owned_descriptor.h"

namespace baton {

class ReceiveBudget {
 public:
  /// The defaults are far more than ten thousand clients need that connect at once by TLS. In
  /// bytes.
  struct Bounds {
    std::int64_t a_second = 32 << 20;
    std::int64_t at_once = 128 << 20;
    /// How much the process may grow within kWindow, and how little a caller has sent in that time
    /// that can't be the reason.
    std::int64_t growth = 128 << 20;
    std::int64_t harmless = 16 << 10;
  };
  static constexpr std::chrono::seconds kWindow{1};
  static constexpr std::chrono::seconds kBarred{10};

  /// `resident`: the memory of this process, in bytes; called by Weigh.
  explicit ReceiveBudget(Bounds bounds, std::function<std::int64_t()> resident = ResidentBytes)
      : bounds_(bounds), resident_(std::move(resident)), left_(bounds.at_once) {}
  ReceiveBudget() : ReceiveBudget(Bounds()) {}

  /// Counts what `connection`, a connected socket, receives, until its descriptor is closed. Takes
  /// one more descriptor. An empty `caller` may send as much as it likes. Returns false if this
  /// process can have no more descriptors, or `connection` is not open. Of a socket that is not
  /// TCP's, nothing is counted.
  bool Add(int connection, const std::string& caller);

  /// Whether Weigh has found within kBarred that this caller sent too much. The caller of this
  /// should then close its new connections.
  bool IsBarred(const std::string& caller, TimePoint now) const;

  /// Looks at all connections. Call it every 100 ms or so, on a thread that never waits for gRPC.
  /// It asks the kernel a few times for each connection. `now` must not go back.
  void Weigh(TimePoint now);

  /// How often callers had to lose their connections so far.
  struct Ended {
    std::atomic<std::uint64_t> for_bytes{0};
    std::atomic<std::uint64_t> for_memory{0};
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
    std::int64_t received = 0;  // bytes, when Weigh last looked
  };
  using HeldByDescriptor = std::unordered_map<int, Held>;

  struct Sender {
    std::int64_t sent = 0;     // since Weigh last looked
    std::vector<int> seconds;  // of its connections
  };
  using Senders = std::unordered_map<std::string, Sender>;

  /// What Weigh saw.
  struct Look {
    TimePoint at;
    std::int64_t resident;
    std::unordered_map<std::string, std::int64_t> sent;  // by caller, since the look before
  };

  Senders Count();
  void Forget(HeldByDescriptor::iterator held);
  /// Who is the reason, as far as this can tell, if the process has grown too much.
  std::vector<std::string> Burdens(TimePoint now, std::int64_t resident);
  void End(const std::string& caller, const Sender& sender, const char* why, TimePoint now);

  const Bounds bounds_;
  const std::function<std::int64_t()> resident_;

  mutable std::mutex mutex_;
  HeldByDescriptor held_;
  std::unordered_map<std::string, std::int64_t> sent_by_ended_;  // of a caller, until it is weighed
  std::unordered_map<std::string, TimePoint> barred_until_;
  std::int64_t left_;  // of the budget of bytes
  TimePoint weighed_at_{};
  std::deque<Look> looks_;  // those within kWindow
  TimePoint quiet_until_{};
  Ended ended_;
};

}  // namespace baton
