// AuditFile: the file of --audit-file, with one JSON object a line for each entry of the audit.
//
// Fields: at, group, node (that was asked), verb, target, dry_run, by (the name in the caller's
// certificate, else its user, else where it calls from), claimed (what it says of itself), peer,
// result ("done", "failed" or "refused"), error, not_logged. Field names are stable; new ones may
// be added.
//
// A thread of its own writes. What it can't write, because the disk is full or slow, is lost and
// counted. The log has each entry, too, if its level is info or lower.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "app/daemon/line_file.h"
#include "baton/result.h"
#include "runtime/admin/audit.h"
#include "runtime/admin/worker.h"

namespace baton::app {

class AuditFile {
 public:
  /// Opens the file to append, for this user alone if it is new (mode 600). kUnavailable: it can't
  /// be opened, or another process writes it; the message says why.
  static Result<std::unique_ptr<AuditFile>> Open(std::string path, std::string group,
                                                 std::string node);
  /// Writes what waits.
  ~AuditFile() = default;
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// Does not wait. Any thread.
  void Write(const runtime::AuditEntry& entry);
  /// Writes here. REQUIRES: it is not called after this object's end.
  runtime::Audit::Sink Sink() {
    return [this](const runtime::AuditEntry& entry) { Write(entry); };
  }

 private:
  AuditFile(std::string path, std::string group, std::string node);
  void Append(const std::string& line);

  const std::string group_;
  const std::string node_;
  LineFile file_;         ///< only the worker's thread uses it, once it is open
  bool failing_ = false;  ///< only the worker's thread
  std::chrono::steady_clock::time_point quiet_until_{};  ///< only the worker's thread
  std::atomic<std::uint64_t> lost_{0};
  runtime::Worker worker_;
};

}  // namespace baton::app
