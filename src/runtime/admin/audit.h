// Audit: logs one line for each change that somebody asked for, when it is answered. Refusals are
// logged at most once a second; the next such line has the number of refusals that were not logged.
// Sinks get every change and every refusal.
//
// A line names the user who asked, as the kernel, a certificate or a token proves (`by`), and what
// the caller says of itself (`claimed`). Thread-safe. Nothing here waits, except for a short lock.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <grpcpp/support/status.h>

#include "access/access.h"
#include "base/log.h"
#include "baton/result.h"

namespace baton::runtime {

struct RequestedChange {
  std::uint64_t id = 0;  ///< joins the entries of one change; unique in this process
  access::Caller caller;
  std::string verb;    ///< the method, "DrainNode"
  std::string target;  ///< "shard 7 to n2", "node n1: weight 2"; empty: the whole group. What takes
                       ///< time to put into words is missing if the caller may not ask for it.
  std::string claimed;  ///< who the caller says it is, as one line; if it says nothing: its address
  bool dry_run = false;
};

/// The most bytes that ActorOf returns.
inline constexpr std::size_t kLongestActor = 128;
/// Returns the name that records and histories show for the caller who ordered a change. This is
/// the caller's proven name, if there is one. Otherwise it is the caller's address, followed by
/// what the caller says of itself. The result is one line of valid UTF-8, of at most kLongestActor
/// bytes; "..." ends a line that was cut.
std::string ActorOf(const RequestedChange& change);

/// The outcome of a change that somebody asked for. REQUIRES: `change` outlives it.
struct AuditEntry {
  enum class Result {
    kAsked,    ///< no outcome yet: the change is about to be made
    kDone,     ///< the change was made, or in a dry run would have been
    kFailed,   ///< `error` says why; also if the outcome of its write is unknown
    kRefused,  ///< the caller may not make the change; `error` says why
  };
  const RequestedChange& change;
  Result result;
  std::string error = {};  ///< one line; empty: no error
};

class Audit {
 public:
  /// The receivers of entries. They may be called on any thread, also on the node's loop and on
  /// several threads at once. So they must not block. They must not keep a reference to the entry
  /// beyond their call.
  struct Sinks {
    /// Gets each entry except kAsked. Unset: only the log has the entries.
    std::function<void(const AuditEntry&)> write = {};
    /// Gets the entry kAsked of each change. It calls `then` once, on any thread: with OK when the
    /// entry is written, or with the error if it can't be written. Unset: changes don't wait for an
    /// entry.
    std::function<void(const AuditEntry&, std::function<void(Status)> then)> write_before = {};
  };

  /// Writes a record to a log, without waiting for it.
  using Log = std::function<void(LogLevel, std::string_view, log::Fields)>;

  explicit Audit(Sinks sinks, Log log = log::Write)
      : sinks_(std::move(sinks)), log_(std::move(log)) {}

  /// Call it before a change is made. Calls `then` once, on any thread, maybe before Ask returns.
  /// OK: the change may be made now. An error: the change must not be made, because its entry can't
  /// be written. REQUIRES: `change` lives until `then` is called.
  void Ask(const RequestedChange& change, std::function<void(Status)> then) const;

  /// The change was answered with `status`. OK: it was made, or in a dry run would have been.
  void Answered(const RequestedChange& change, const grpc::Status& status) const;
  /// The change was refused, because the caller may not make it; `why` as one line. REQUIRES:
  /// neither Ask nor Answered is called for it.
  void Refused(const RequestedChange& change, const std::string& why);

 private:
  const Sinks sinks_;
  const Log log_;
  std::mutex mutex_;  // guards what follows
  std::chrono::steady_clock::time_point quiet_until_{};
  std::uint64_t unsaid_ = 0;  ///< refusals that no line has counted yet
};

}  // namespace baton::runtime
