// AuditFile: the file of --audit-file, with one JSON object a line for each entry of the audit.
//
// Fields: at, group, node (that was asked), id (of the change, since the process began; 0: it was
// no change), verb (the method, or the path of HTTP), target, dry_run, by (the name of the caller's
// token or in its certificate, else its user, else where it calls from), claimed (what it says of
// itself), peer, result ("asked", "done", "failed" or "refused"), error, not_logged. Field names
// are stable; new ones may be added.
//
// Refusals get at most one line a second for each caller; `not_logged` says how many refusals
// before it got none (access::RefusalPace).
//
// A thread of its own writes. What it can't write, because the disk is full or slow, is lost and
// counted. The log has each entry, too, if its level is info or lower.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "access/access.h"
#include "access/refusal_pace.h"
#include "app/daemon/line_file.h"
#include "baton/result.h"
#include "runtime/admin/audit.h"
#include "runtime/admin/worker.h"

namespace baton::app {

struct AuditFileOptions {
  std::string path;
  std::string group;
  std::string node;
  bool required = false;  ///< each change waits until its line "asked" is in the file
};

class AuditFile {
 public:
  /// Opens the file to append, for this user alone if it is new (mode 600). kUnavailable: it can't
  /// be opened, or another process writes it; the message says why.
  static Result<std::unique_ptr<AuditFile>> Open(AuditFileOptions options);
  /// Writes what waits.
  ~AuditFile() = default;
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// Does not wait. Any thread.
  void Write(const runtime::AuditEntry& entry);
  /// The same, and calls `then` with the outcome: on the file's thread, or at once if too many
  /// lines wait.
  void Write(const runtime::AuditEntry& entry, std::function<void(Status)> then);
  /// Writes that a caller may not read, or not attach.
  void Refused(const access::Caller& caller, std::string_view what, const access::Refused& refused);
  /// They write here. REQUIRES: they are not called after this object's end.
  runtime::Audit::Sinks Sinks();

 private:
  explicit AuditFile(AuditFileOptions options);
  std::string LineOf(const runtime::AuditEntry& entry, std::uint64_t not_logged) const;
  void Report(const Status& written);

  const AuditFileOptions options_;
  LineFile file_;         ///< only the worker's thread uses it, once it is open
  bool failing_ = false;  ///< only the worker's thread
  std::chrono::steady_clock::time_point quiet_until_{};  ///< only the worker's thread
  std::atomic<std::uint64_t> lost_{0};
  std::mutex mutex_;
  access::RefusalPace refusals_;  ///< guarded by mutex_
  runtime::Worker worker_;
};

}  // namespace baton::app
