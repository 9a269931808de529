// Audit: one line of log for each change that somebody asked for, and for each refusal. A sink gets
// the same.
//
// A line names the user who asked, as the kernel, a certificate or a token proves (`by`), and what
// the caller says of itself
// (`claimed`). Refusals are logged once a second at most; the next line says how many were not.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include <grpcpp/support/status.h>

#include "access/access.h"

namespace baton::runtime {

struct AskedChange {
  access::Caller caller;
  std::string verb;     ///< the method, "DrainNode"
  std::string target;   ///< "shard 7 to n2", "node n1"; empty: the group
  std::string claimed;  ///< one line
  bool dry_run = false;
};

/// What became of a change that somebody asked for.
struct AuditEntry {
  enum class Result {
    kDone,     ///< or would have been, in a dry run
    kFailed,   ///< `error` says why. Of a write whose outcome is unknown it says so, too
    kRefused,  ///< the caller has not the role for it
  };
  const AskedChange& change;
  Result result;
  std::string error = {};        ///< one line; empty: none
  std::uint64_t not_logged = 0;  ///< refusals before this one that made no entry
};

class Audit {
 public:
  /// Gets each entry, on gRPC's threads and the node's loop: it must not wait. Unset: only the log
  /// has them.
  using Sink = std::function<void(const AuditEntry&)>;

  explicit Audit(Sink sink) : sink_(std::move(sink)) {}

  /// The change was answered with `status`. OK: it was done, or would have been.
  void Answered(const AskedChange& change, const grpc::Status& status) const;
  /// The caller has not the role that the change needs.
  void Refused(const AskedChange& change);

 private:
  const Sink sink_;
  std::mutex mutex_;  // guards what follows
  std::chrono::steady_clock::time_point quiet_until_{};
  std::uint64_t unsaid_ = 0;
};

}  // namespace baton::runtime
