#include "app/daemon/audit_file.h"

#include <atomic>
#include <condition_variable>
#include <map>
#include <utility>

#include <boost/json.hpp>

#include "app/daemon/line_file.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/log.h"
#include "base/timestamp.h"

namespace baton::app {
namespace {

constexpr std::size_t kMaxWaiting = 1000;
constexpr std::chrono::minutes kSayLostAgain{1};

constexpr std::size_t kLongestWhat = 128;

const char* WordOf(runtime::AuditEntry::Result result) {
  using Result = runtime::AuditEntry::Result;
  switch (result) {
    case Result::kAsked: return "asked";
    case Result::kDone: return "done";
    case Result::kFailed: return "failed";
    case Result::kRefused: return "refused";
  }
  return "unknown";
}

const Error kStopping{ErrorCode::kUnavailable, "the node is stopping"};

}  // namespace

/// The state that the thread uses. The thread owns it, too, because a write may stand still and
/// outlive the object.
struct AuditFile::Shared {
  explicit Shared(const AuditFileOptions& options)
      : file("--audit-file", options.path, 0600), required(options.required) {}

  /// The function of a line that waits, for who calls it; null: somebody else has.
  Then Take(std::uint64_t wait);
  // The thread:
  void Append(const std::string& line) { Report(file.Append(line)); }
  void Append(const std::string& line, std::uint64_t wait);
  void Report(const Status& written);

  LineFile file;  ///< only the thread uses it, once it is open
  const bool required;
  bool failing = false;                                 ///< only the thread
  std::chrono::steady_clock::time_point quiet_until{};  ///< only the thread
  std::atomic<std::uint64_t> lost{0};

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::map<std::uint64_t, Then> waits;
  std::uint64_t next_wait = 1;
  bool stopping = false;
};

Result<std::unique_ptr<AuditFile>> AuditFile::Open(AuditFileOptions options) {
  std::unique_ptr<AuditFile> file(new AuditFile(std::move(options)));
  if (const Status opened = file->shared_->file.Open(); !opened) return opened.error();
  return file;
}

AuditFile::AuditFile(AuditFileOptions options)
    : options_(std::move(options)),
      shared_(std::make_shared<Shared>(options_)),
      worker_(kMaxWaiting) {}

AuditFile::~AuditFile() {
  if (worker_.End(kWaitAtEnd)) return;
  log::Warn("lines of --audit-file are lost, because its disk stands still");
}

runtime::Audit::Sinks AuditFile::Sinks() {
  runtime::Audit::Sinks sinks;
  sinks.write = [this](const runtime::AuditEntry& entry) { Write(entry); };
  if (!options_.required) return sinks;
  sinks.write_before = [this](const runtime::AuditEntry& entry, Then then) {
    Write(entry, [then = std::move(then)](const Status& written) {
      if (written) return then(Ok());
      then(Error{ErrorCode::kUnavailable,
                 "no change is made without its line in the audit file (--audit-required): " +
                     written.error().message});
    });
  };
  return sinks;
}

std::string AuditFile::LineOf(const runtime::AuditEntry& entry, std::uint64_t not_logged) const {
  const runtime::RequestedChange& change = entry.change;
  const boost::json::object line{{"at", Timestamp(std::chrono::system_clock::now())},
                                 {"group", options_.group},
                                 {"node", options_.node},
                                 {"id", change.id},
                                 {"verb", change.verb},
                                 {"target", change.target},
                                 {"dry_run", change.dry_run},
                                 {"by", access::NameOf(change.caller)},
                                 {"claimed", change.claimed},
                                 {"peer", change.caller.peer},
                                 {"result", WordOf(entry.result)},
                                 {"error", entry.error},
                                 {"not_logged", not_logged}};
  return SafeJson(boost::json::serialize(line)) + "\n";
}

void AuditFile::Write(const runtime::AuditEntry& entry) {
  using Urgency = runtime::Worker::Urgency;
  auto urgency = Urgency::kUrgent;  // however many are refused, changes have their lines
  std::uint64_t not_logged = 0;
  if (entry.result == runtime::AuditEntry::Result::kRefused) {
    const std::lock_guard lock(mutex_);
    const auto before = refusals_.Next(access::LimitedAs(entry.change.caller), BootClock::now());
    if (!before) return;
    not_logged = *before;
    urgency = Urgency::kUsual;
  }
  const bool queued = worker_.Post(
      [shared = shared_, text = LineOf(entry, not_logged)] { shared->Append(text); }, urgency);
  if (!queued) ++shared_->lost;
}

void AuditFile::Write(const runtime::AuditEntry& entry, Then then) {
  std::uint64_t wait = 0;
  {
    const std::lock_guard lock(shared_->mutex);
    if (!shared_->stopping) {
      wait = shared_->next_wait++;
      shared_->waits[wait] = then;
    }
  }
  if (wait == 0) return then(kStopping);
  const bool queued = worker_.Post(
      [shared = shared_, text = LineOf(entry, 0), wait] { shared->Append(text, wait); },
      runtime::Worker::Urgency::kUrgent);
  if (queued) return;
  ++shared_->lost;
  if (const Then waiting = shared_->Take(wait)) {
    waiting(
        Error{ErrorCode::kUnavailable, "too many lines wait for the disk: try again in a moment"});
  }
}

void AuditFile::EndWaits() {
  std::map<std::uint64_t, Then> left;
  {
    std::unique_lock lock(shared_->mutex);
    shared_->stopping = true;
    shared_->changed.wait_for(lock, kWaitAtEnd, [this] { return shared_->waits.empty(); });
    left.swap(shared_->waits);
  }
  for (const auto& [wait, then] : left) then(kStopping);
}

void AuditFile::Refused(const access::Caller& caller, std::string_view what,
                        const access::Refused& refused) {
  Write({.change =
             {.caller = caller, .verb = OneLine(what, kLongestWhat), .target = {}, .claimed = {}},
         .result = runtime::AuditEntry::Result::kRefused,
         .error = refused.line});
}

AuditFile::Then AuditFile::Shared::Take(std::uint64_t wait) {
  const std::lock_guard lock(mutex);
  auto found = waits.extract(wait);
  changed.notify_all();
  return found.empty() ? Then() : std::move(found.mapped());
}

void AuditFile::Shared::Append(const std::string& line, std::uint64_t wait) {
  {
    const std::lock_guard lock(mutex);
    if (!waits.contains(wait)) return;  // it is refused already
  }
  const Status written = file.Append(line);
  Report(written);
  if (const Then then = Take(wait)) then(written);
}

void AuditFile::Shared::Report(const Status& written) {
  if (!written) {
    ++lost;
    if (std::exchange(failing, true)) return;
    return log::Error(written.error().message +
                      (required ? "; until it can be written, no change is made"
                                : "; until it can be written, only the log has what "
                                  "operators ask for"));
  }
  if (std::exchange(failing, false)) {
    return log::Warn("--audit-file is written again", {{"lost", lost.exchange(0)}});
  }
  const auto now = std::chrono::steady_clock::now();
  if (lost.load() == 0 || now < quiet_until) return;
  quiet_until = now + kSayLostAgain;
  log::Warn("lines of --audit-file are lost, because the disk is slow",
            {{"lost", lost.exchange(0)}});
}

}  // namespace baton::app
