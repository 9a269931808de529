// Relay: a view of a group for callers, in a process that leads nothing. Thousands of callers cost
// etcd one watch and a small read every two seconds.
//
// It writes nothing to etcd and is no member: nodes don't know of it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "baton/options.h"
#include "baton/result.h"
#include "runtime/control.h"

namespace baton::runtime {

struct RelayOptions {
  std::string group;  ///< REQUIRED; it need not exist yet
  std::string name;   ///< REQUIRED: as callers are told who answers
  EtcdOptions etcd;
  std::uint32_t history = 10'000;  ///< as NodeOptions::history
};

/// Thread-safe, but for the destructor.
class Relay {
 public:
  /// Begins to follow; returns at once, etcd reachable or not. kInvalidArgument: an option is off.
  static Result<std::unique_ptr<Relay>> Start(RelayOptions options);
  /// As Stop.
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  /// As Node::SetEtcdCredentials.
  Status SetEtcdCredentials(EtcdCredentials credentials);
  /// Ends the routes' observers, then the threads. Idempotent.
  void Stop();
  /// What it shows. Whatever would change the group is refused with kUnimplemented.
  Control& control();

 private:
  class Impl;
  explicit Relay(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace baton::runtime
