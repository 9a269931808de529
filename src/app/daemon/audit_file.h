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
// counted. The log has each entry, too, if its level is info or lower. If a write stands still, the
// end of the process waits for it with a bound; a change that must wait for its line does so until
// the write ends or EndWaits is called. Lines are not synced to the disk, so a host that fails may
// lose the last ones.
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
  bool required = false;  ///< each change waits until its line "asked" is in the file
};

class AuditFile {
 public:
  /// How long EndWaits waits for the lines of changes, and then the destructor for all lines.
  static constexpr std::chrono::seconds kWaitAtEnd{2};

  /// Opens the file to append, for this user alone if it is new (mode 600). kUnavailable: it can't
  /// be opened, or another process writes it; the message says why.
  static Result<std::unique_ptr<AuditFile>> Open(AuditFileOptions options);
  /// Writes what waits. If a write stands still, the thread does so later, as far as the process
  /// lives, and it is logged that it was not waited for. REQUIRES: EndWaits was called, if a `then`
  /// still waits.
  ~AuditFile();
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  /// Does not wait. Any thread. If too many lines wait, the entry is lost and counted.
  void Write(const runtime::AuditEntry& entry);
  using Then = std::function<void(Status)>;
  /// The same, and calls `then` with the outcome: on the file's thread, at once if too many lines
  /// wait, or in EndWaits.
  void Write(const runtime::AuditEntry& entry, Then then);
  /// The process ends: gives the lines that wait some time (kWaitAtEnd), then calls each `then`
  /// that is left with kUnavailable. (The line of one of them may be in the file all the same, if
  /// it was being written.) From now on each `then` gets that at once.
  void EndWaits();
  /// Writes that a caller may not read, or not attach. Any thread.
  void Refused(const access::Caller& caller, std::string_view what, const access::Refused& refused);
  /// They write here. REQUIRES: they are not called after this object's end.
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
