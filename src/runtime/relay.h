// Relay: follows a group's routes for callers, in a process that leads nothing. However many
// callers there are, a relay costs etcd one watch, one small read every two seconds, and a read of
// the whole group every 10 to 12.5 minutes.
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
  std::string group;  ///< REQUIRED; the group need not exist yet
  /// REQUIRED (not checked): the server's name in answers to callers. It must differ from each
  /// node's name (not checked). Otherwise metrics take the relay for that node.
  std::string name;
  EtcdOptions etcd;
  /// The most events to keep, 1 to 1,000,000, as NodeOptions::history.
  std::uint32_t history = 10'000;
};

/// Thread-safe, except for the destructor. The methods may also be called after Stop.
class Relay {
 public:
  /// Begins to follow the group. Returns at once, even if etcd can't be reached or the group does
  /// not exist. kInvalidArgument: an option is invalid. Throws std::system_error if the host lacks
  /// threads. Throws boost::system::system_error if the process lacks descriptors.
  static Result<std::unique_ptr<Relay>> Start(RelayOptions options);
  /// Calls Stop, and waits for a running examination (Control::Examine), about 13 s at most.
  /// REQUIRES: no other call still runs, also no other Stop.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// As Node::SetEtcdCredentials. kUnavailable: the relay has stopped.
  Status SetEtcdCredentials(EtcdCredentials credentials);
  /// Ends the observers of routes and the history, then the threads, and waits until all have
  /// ended. A second call does nothing, and does not wait for the first. REQUIRES: not called from
  /// a handler or an observer, because Stop would wait for itself.
  void Stop();
  /// The relay's status and routes. Valid until the relay is destroyed. Calls that would change the
  /// group fail with kUnimplemented.
  Control& control();

 private:
  class Impl;
  explicit Relay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton::runtime
