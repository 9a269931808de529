// AuditFile: the file of --audit-file. Each entry of the audit (runtime/admin/audit.h) is one line,
// a JSON object.
//
// The names of a line's fields are stable; new fields may be added:
//  - at: the time.
//  - group and node: those of the node that was asked.
//  - id: the number of the change in this process. All lines of a change have the same id. 0: a
//    read or an attachment was refused.
//  - verb: the gRPC method, or the HTTP path without its query.
//  - target and dry_run: see RequestedChange.
//  - by: the name of the caller's token or certificate; otherwise the user; otherwise the address.
//  - claimed: the name that the caller gives itself, or without such a name the caller's address.
//    Empty if id is 0.
//  - peer: the caller's address.
//  - result: "asked" (only with AuditFileOptions::required), "done", "failed" or "refused".
//  - error: why the result is "failed" or "refused"; otherwise empty.
//  - not_logged: how many earlier refusals got no line. Each of 64 callers gets one line a second,
//    and all other callers share one line a second. All callers together get at most 256 lines at
//    once, and then 4 a second (access::RefusalPace).
//
// A thread of its own writes. If the disk is full or slow, lines may be lost. When the thread can
// write again, the log says how many lines were lost. Lines are not synced to the disk. So if the
// host fails, the last lines may be lost. If the log's level is info or lower, the log has each
// answered change, too. It has at most one refused change and one refused read a second.
//
// Any thread may call Write, Refused and the sinks. Only one thread may call the other functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "access/access.h"
#include "access/refusal_pace.h"
#include "baton/result.h"
#include "runtime/admin/audit.h"
#include "runtime/admin/worker.h"

namespace baton::app {

struct AuditFileOptions {
  std::string path;
  std::string group;
  std::string node;
  bool required = false;  ///< no change is made before its line "asked" is in the file
};

class AuditFile {
 public:
  /// The bound of EndWaits, and of the destructor.
  static constexpr std::chrono::seconds kWaitAtEnd{2};

  /// Opens the file to append lines. A new file gets mode 600. kUnavailable: the file can't be
  /// opened, LineFile refuses it, or another process writes it; the message says why. Throws
  /// std::system_error if the host lacks threads.
  static Result<std::unique_ptr<AuditFile>> Open(AuditFileOptions options);
  /// Waits until all lines are written, but at most for kWaitAtEnd. If the time is too short, the
  /// log says so, and the thread goes on while the process lives. REQUIRES (not checked): if a
  /// `then` was passed to Write, EndWaits was called.
  ~AuditFile();
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// Queues the entry and returns at once. If RefusalPace allows no line for a refusal, the refusal
  /// is only counted, for `not_logged`. There are two queues: one for 1,000 refusals, and one for
  /// 1,000 other entries. If the entry's queue is full, the entry's line is lost.
  void Write(const runtime::AuditEntry& entry);
  using Then = std::function<void(Status)>;
  /// Queues an entry that is no refusal, and calls `then` once with the outcome. Usually the file's
  /// thread calls `then`, after the write. If the queue is full or EndWaits was called before, this
  /// function calls `then` at once, with kUnavailable.
  void Write(const runtime::AuditEntry& entry, Then then);
  /// Waits until every `then` was called, but at most for kWaitAtEnd. The last of these calls may
  /// still run. Then calls each `then` that is left, with kUnavailable, and its line is not
  /// written. But a line that is being written at that moment may still get into the file.
  void EndWaits();
  /// Queues a refusal to read or to attach, as Write does. `what`: the method or path. Of a longer
  /// text, the line has only the first 128 bytes and "...".
  void Refused(const access::Caller& caller, std::string_view what, const access::Refused& refused);
  /// Returns functions that call Write. `write_before` is set only if AuditFileOptions::required
  /// is. REQUIRES: this object outlives the calls of these functions.
  runtime::Audit::Sinks Sinks();

 private:
  struct Shared;

  explicit AuditFile(AuditFileOptions options);
  std::string LineOf(const runtime::AuditEntry& entry, std::uint64_t not_logged) const;

  const AuditFileOptions options_;
  const std::shared_ptr<Shared> shared_;
  std::mutex mutex_;
  access::RefusalPace refusals_;  ///< guarded by mutex_
  runtime::Worker worker_;
};

}  // namespace baton::app
