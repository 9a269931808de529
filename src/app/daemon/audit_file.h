// AuditFile: the file of --audit-file, with one JSON object a line for each entry of the audit.
//
// The fields of a line. Their names are stable; new ones may be added.
//  - at: the time; group; node: the node that was asked.
//  - id: the number of the change in this process; the lines of one change have the same id. 0: the
//    caller was refused a read or an attachment.
//  - verb: the gRPC method, or the HTTP path without its query; target; dry_run.
//  - by: the name of the caller's token or certificate; otherwise the user; otherwise the address.
//  - claimed: the name that the caller gives itself; without one, its address; with id 0, empty.
//  - peer: the caller's address.
//  - result: "asked" (only with AuditFileOptions::required), "done", "failed" or "refused"; error.
//  - not_logged: how many earlier refusals got no line. Each of 64 callers gets one line a second;
//    all others share one. All together get 256 at once, then 4 a second (access::RefusalPace).
//
// A thread of its own writes. Lines that it can't write, because the disk is full or slow, are
// lost; once it can write again, the log says how many. Lines are not synced to the disk, so a host
// that fails may lose the last ones. The log, too, has each change that was answered, if its level
// is info or lower. It has one refused change and one refused read a second, of all callers.
//
// Write, Refused and the sinks may be called from any thread; the other functions from one thread.
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
  bool required = false;  ///< a change is made only after its line "asked" is in the file
};

class AuditFile {
 public:
  /// How long EndWaits waits, and how long the destructor waits.
  static constexpr std::chrono::seconds kWaitAtEnd{2};

  /// Opens the file to append. A new file gets mode 600. kUnavailable: the file can't be opened, or
  /// another process writes it; the message says why.
  static Result<std::unique_ptr<AuditFile>> Open(AuditFileOptions options);
  /// Waits until all lines are written, at most kWaitAtEnd. If the time is too short, the log says
  /// so, and the thread goes on while the process lives. REQUIRES: EndWaits was called if any Write
  /// had a `then`.
  ~AuditFile();
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// Queues the entry and returns at once. A refusal for which RefusalPace allows no line is only
  /// counted, for `not_logged`. There are two queues, one for 1,000 refusals and one for 1,000
  /// other entries. If the entry's queue is full, the entry is lost.
  void Write(const runtime::AuditEntry& entry);
  using Then = std::function<void(Status)>;
  /// Queues the entry, and calls `then` once with the outcome: on the file's thread after the
  /// write, or in EndWaits. If the queue is full or EndWaits was called before, calls `then` at
  /// once, with kUnavailable.
  void Write(const runtime::AuditEntry& entry, Then then);
  /// Waits until every `then` was called, at most kWaitAtEnd. Then calls those that are left with
  /// kUnavailable. Their lines are not written, but a line that is being written at that moment may
  /// still get into the file.
  void EndWaits();
  /// Queues a refusal to read or to attach, as Write does. `what`: the method or path; of a longer
  /// one the line has 128 bytes and "...".
  void Refused(const access::Caller& caller, std::string_view what, const access::Refused& refused);
  /// Returns functions that call Write. `write_before` is set only with AuditFileOptions::required.
  /// REQUIRES: this object outlives their calls.
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
