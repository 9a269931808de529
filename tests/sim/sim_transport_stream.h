// The common part of SimTransport's calls and streams. Only for sim_transport*.cc.
#pragma once

#include <string>

#include "sim/sim_transport.h"

namespace baton::sim {

inline const Failure kNoConnection{kCodeUnavailable, "failed to connect to all addresses"};
inline const Failure kInvalidToken{kCodeUnauthenticated, "etcdserver: invalid auth token"};
inline const Failure kBroken{kCodeUnavailable, "connection reset by peer"};

inline std::string AddressOf(int member) { return "etcd" + std::to_string(member) + ":2379"; }

/// In GrpcTransport's words.
etcd::CallStatus StatusOf(const Failure& failure);

struct SimTransport::Stream {
  std::uint64_t id = 0;
  int member = 0;
  Phase phase = Phase::kWatching;
  bool open = true;
  bool waits = false;  ///< for an answer
  bool accepted = false;
  TimePoint out_at{};  ///< no message arrives before the one sent before it
  TimePoint in_at{};
  std::function<void(etcd::CallStatus)> ended = {};
  WatchId watch = 0;
};

}  // namespace baton::sim
