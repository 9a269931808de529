// Audit: records each change that a caller asks for, in a log and in sinks.
//
// Each answered change gets one line in the log. Refusals together get at most one line a second.
// The line says how many earlier refusals had no line. Sinks get every change and every refusal.
//
// A line has two names of the caller. `by` is the proven name, or the address if no name is proven
// (access::NameOf). `claimed` is the name that the caller gives itself.
//
// Thread-safe. Waits only for short locks.
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
  std::uint64_t id = 0;  ///< the same in all entries of one change; unique in this process
  access::Caller caller;
  std::string verb;  ///< the method, "DrainNode"
  /// For example "shard 7 to n2", or "node n1: weight 2". Empty: the whole group. If the caller may
  /// not call SetNode: only "node n1".
  std::string target;
  /// The name that the caller gives itself, as one line. If it gives no name: the caller's address.
  std::string claimed;
  bool dry_run = false;
};

/// The most bytes in a result of ActorOf.
inline constexpr std::size_t kLongestActor = 128;
/// Returns the caller's name for records and histories. If a name is proven (access::IsProven),
/// returns this name. Otherwise returns the caller's address, and the name that the caller gives
/// itself, if it gives one: "ipv4:10.0.0.7:4711, says ann". The result is one line of valid UTF-8.
/// A result longer than kLongestActor is cut to this length, and then ends with "...".
std::string ActorOf(const RequestedChange& change);

/// An entry about a change that a caller asked for. REQUIRES: `change` outlives the entry.
struct AuditEntry {
  enum class Result {
    kAsked,  ///< the change is about to be made; no outcome yet
    kDone,   ///< the change was made; in a dry run: it would have been made
    /// The caller got an error, see `error`. For example, the request is not valid, or the caller
    /// lost its role after kAsked. If the outcome of the write is unknown, the change may have been
    /// made.
    kFailed,
    kRefused,  ///< the caller may not make the change; `error` says why
  };
  const RequestedChange& change;
  Result result;
  std::string error = {};  ///< one line of at most 256 bytes, and "..." if cut; empty: no error
};

class Audit {
 public:
  /// The receivers of entries. They may be called on any thread, also on the node's loop, and on
  /// several threads at once. So they must not block. They must not use the entry after they have
  /// returned.
  struct Sinks {
    /// Gets each entry except kAsked. Unset: only the log has the outcomes, and some of the
    /// refusals.
    std::function<void(const AuditEntry&)> write = {};
    /// Gets the entry kAsked of each change. Calls `then` once, on any thread: with OK when the
    /// entry is written, or with an error if the entry can't be written. Unset: changes don't wait.
    std::function<void(const AuditEntry&, std::function<void(Status)> then)> write_before = {};
  };

  /// Writes a record to a log, without waiting for it.
  using Log = std::function<void(LogLevel, std::string_view, log::Fields)>;

  explicit Audit(Sinks sinks, Log log = log::Write)
      : sinks_(std::move(sinks)), log_(std::move(log)) {}

  /// Call it before a change is made, also before a dry run. Calls `then` once, on any thread,
  /// maybe before Ask returns. OK: the change may be made now. An error: the entry can't be
  /// written, so the change must not be made. REQUIRES: `change` lives until `then` is called.
  void Ask(const RequestedChange& change, std::function<void(Status)> then) const;

  /// Call it once for each change that was not refused, just before the caller gets `status`. OK:
  /// the change was made, or in a dry run, would have been made. For a request that is not valid,
  /// call Answered without Ask.
  void Answered(const RequestedChange& change, const grpc::Status& status) const;
  /// Call it if the caller may not make the change. `why`: any bytes; becomes AuditEntry::error.
  /// REQUIRES: neither Ask nor Answered is called for this change.
  void Refused(const RequestedChange& change, const std::string& why);

 private:
  const Sinks sinks_;
  const Log log_;
  std::mutex mutex_;  // guards what follows
  std::chrono::steady_clock::time_point quiet_until_{};
  std::uint64_t unsaid_ = 0;  ///< refusals that no line has counted yet
};

}  // namespace baton::runtime
