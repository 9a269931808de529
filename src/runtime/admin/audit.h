// Audit: one line of log for each change that somebody asked for, and for each refusal.
//
// A line names the user who asked, as the kernel says (`by`), and what the caller says of itself
// (`claimed`). Refusals are logged once a second at most; the next line says how many were not.
// Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

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

class Audit {
 public:
  /// The change was answered with `status`. OK: it was done, or would have been.
  static void Answered(const AskedChange& change, const grpc::Status& status);
  /// The caller has not the role that the change needs.
  void Refused(const AskedChange& change);

 private:
  std::mutex mutex_;  // guards what follows
  std::chrono::steady_clock::time_point quiet_until_{};
  std::uint64_t unsaid_ = 0;
};

}  // namespace baton::runtime
