// Audit: logs one line for each change that somebody asked for. Refusals are logged once a second
// at most; the next line says how many were not. Sinks get every change and every refusal.
//
// A line names the user who asked, as the kernel, a certificate or a token proves (`by`), and what
// the caller says of itself (`claimed`). Thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include <grpcpp/support/status.h>

#include "access/access.h"
#include "baton/result.h"

namespace baton::runtime {

struct AskedChange {
  std::uint64_t id = 0;  ///< joins the entries of one change; each has its own since the start
  access::Caller caller;
  std::string verb;     ///< the method, "DrainNode"
  std::string target;   ///< "shard 7 to n2", "node n1"; empty: the group
  std::string claimed;  ///< one line
  bool dry_run = false;
};

/// The most bytes of an actor.
inline constexpr std::size_t kLongestActor = 128;
/// Who ordered a change, as records and histories name it: what is proven, and nothing that the
/// caller says of itself. If nothing is proven, that too, behind the address. One line of valid
/// UTF-8, of at most kLongestActor bytes; "..." ends it if it was cut.
std::string ActorOf(const AskedChange& change);

/// What became of a change that somebody asked for.
struct AuditEntry {
  enum class Result {
    kAsked,    ///< nothing yet: it is about to be carried out
    kDone,     ///< or would have been, in a dry run
    kFailed,   ///< `error` says why. Of a write whose outcome is unknown it says so, too
    kRefused,  ///< the caller has not the role for it
  };
  const AskedChange& change;
  Result result;
  std::string error = {};  ///< one line; empty: none
};

class Audit {
 public:
  /// Get entries on gRPC's threads and the node's loop: they must not wait, and keep no reference.
  struct Sinks {
    /// Gets each entry but kAsked. Unset: only the log has them.
    std::function<void(const AuditEntry&)> write = {};
    /// Gets the entry kAsked of each change, and calls `then` once it is written, or with the error
    /// if it can't be; once, on any thread. Unset: changes don't wait for such an entry.
    std::function<void(const AuditEntry&, std::function<void(Status)> then)> write_before = {};
  };

  explicit Audit(Sinks sinks) : sinks_(std::move(sinks)) {}

  /// Calls `then` once the change may be carried out, maybe at once; once, on any thread. Error: it
  /// may not, because its entry must be written before, and can't be.
  void Ask(const AskedChange& change, std::function<void(Status)> then) const;

  /// The change was answered with `status`. OK: it was done, or would have been.
  void Answered(const AskedChange& change, const grpc::Status& status) const;
  /// The caller has not the role that the change needs.
  void Refused(const AskedChange& change);

 private:
  const Sinks sinks_;
  std::mutex mutex_;  // guards what follows
  std::chrono::steady_clock::time_point quiet_until_{};
  std::uint64_t unsaid_ = 0;
};

}  // namespace baton::runtime
