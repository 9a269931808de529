// Audit: logs one line for each change that somebody asked for, when the change is answered.
// Refusals get at most one line a second; the next such line has the number of refusals without a
// line. Sinks get every change and every refusal.
//
// A line has two names of the caller. `by` is the name that a token, a certificate or the kernel
// proves, or else the caller's address. `claimed` is the name that the caller gives itself.
//
// Thread-safe. Nothing here waits, except for a short lock.
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
  /// "shard 7 to n2", "node n1: weight 2"; empty: the whole group. If a SetNode is refused, only
  /// "node n1": the rest is put into words later, because this takes time.
  std::string target;
  /// The name that the caller gives itself, as one line. Without a name: the caller's address.
  std::string claimed;
  bool dry_run = false;
};

/// The most bytes that ActorOf returns.
inline constexpr std::size_t kLongestActor = 128;
/// Returns the name that records and histories show for the caller who ordered a change. This is
/// the caller's proven name (access::NameOf), if there is one. Otherwise it is the caller's
/// address, followed by ", says " and the name that the caller gives itself, if it gives one. The
/// result is one line of valid UTF-8. If it would be longer than kLongestActor bytes, it is cut and
/// ends with "...", which these bytes include.
std::string ActorOf(const RequestedChange& change);

/// The outcome of a change that somebody asked for. REQUIRES: `change` outlives the entry.
struct AuditEntry {
  enum class Result {
    kAsked,  ///< no outcome yet: the change is about to be made
    kDone,   ///< the change was made; in a dry run: it would have been made
    /// The caller got an error, see `error`. For example, the request is not valid, or the caller
    /// lost its role after kAsked. If the outcome of the write is unknown, the result is kFailed,
    /// but the change may have been made.
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
  /// several threads at once. So they must not block. They must not keep a reference to the entry
  /// after their call.
  struct Sinks {
    /// Gets each entry except kAsked. Unset: only the log has the outcomes, and not every refusal.
    std::function<void(const AuditEntry&)> write = {};
    /// Gets the entry kAsked of each change that is about to be made. It calls `then` once, on any
    /// thread: with OK when the entry is written, or with the error if it can't be written. Unset:
    /// changes don't wait for an entry.
    std::function<void(const AuditEntry&, std::function<void(Status)> then)> write_before = {};
  };

  /// Writes a record to a log, without waiting for it.
  using Log = std::function<void(LogLevel, std::string_view, log::Fields)>;

  explicit Audit(Sinks sinks, Log log = log::Write)
      : sinks_(std::move(sinks)), log_(std::move(log)) {}

  /// Call it before a change is made, also before a dry run. Calls `then` once, on any thread,
  /// maybe before Ask returns. OK: the change may be made now. An error: the change must not be
  /// made, because its entry can't be written. REQUIRES: `change` lives until `then` is called.
  void Ask(const RequestedChange& change, std::function<void(Status)> then) const;

  /// Call it once for each change that was not refused, just before it is answered with `status`.
  /// OK means that the change was made; in a dry run: that it would have been made. A request that
  /// is not valid is answered without Ask.
  void Answered(const RequestedChange& change, const grpc::Status& status) const;
  /// Call it if the change is refused because the caller may not make it. `why`: any bytes; becomes
  /// AuditEntry::error. REQUIRES: neither Ask nor Answered is called for this change.
  void Refused(const RequestedChange& change, const std::string& why);

 private:
  const Sinks sinks_;
  const Log log_;
  std::mutex mutex_;  // guards what follows
  std::chrono::steady_clock::time_point quiet_until_{};
  std::uint64_t unsaid_ = 0;  ///< refusals that no line has counted yet
};

}  // namespace baton::runtime
