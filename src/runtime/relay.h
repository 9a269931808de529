// Relay: serves a group's routes to callers, from a process that leads nothing. However many
// callers there are, etcd has one more watch, one small read every two seconds, and a read of the
// whole group about every ten minutes.
//
// A relay writes nothing to etcd. It is no member, so nodes don't know of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "baton/options.h"
#include "baton/result.h"
#include "runtime/control.h"

namespace baton::runtime {

/// The answer to callers who ask a relay for a change.
inline constexpr const char* kRelayMakesNoChanges =
    "this is a relay, which only serves routes: ask a node of the group";

struct RelayOptions {
  std::string group;  ///< REQUIRED; need not exist yet
  std::string name;   ///< REQUIRED: the server's name in answers to callers
  EtcdOptions etcd;
  std::uint32_t history = 10'000;  ///< as NodeOptions::history: the most events to keep
};

/// Thread-safe, except for the destructor. The methods also work after Stop.
class Relay {
 public:
  /// Begins to follow the group. Returns at once, even if etcd can't be reached. kInvalidArgument:
  /// an option is invalid. Throws std::system_error if the host lacks threads.
  static Result<std::unique_ptr<Relay>> Start(RelayOptions options);
  /// Calls Stop.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// As Node::SetEtcdCredentials. kUnavailable: the relay has stopped.
  Status SetEtcdCredentials(EtcdCredentials credentials);
  /// Ends the observers of routes, then the threads. A second call does nothing, and does not wait
  /// for the first.
  void Stop();
  /// The relay's status and routes. Calls that would change the group fail with kUnimplemented.
  Control& control();

 private:
  class Impl;
  explicit Relay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton::runtime
