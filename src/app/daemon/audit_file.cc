#include "app/daemon/audit_file.h"

#include <chrono>
#include <utility>

#include <boost/json.hpp>

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

}  // namespace

Result<std::unique_ptr<AuditFile>> AuditFile::Open(AuditFileOptions options) {
  std::unique_ptr<AuditFile> file(new AuditFile(std::move(options)));
  if (const Status opened = file->file_.Open(); !opened) return opened.error();
  return file;
}

AuditFile::AuditFile(AuditFileOptions options)
    : options_(std::move(options)),
      file_("--audit-file", options_.path, 0600),
      worker_(kMaxWaiting) {}

runtime::Audit::Sinks AuditFile::Sinks() {
  runtime::Audit::Sinks sinks;
  sinks.write = [this](const runtime::AuditEntry& entry) { Write(entry); };
  if (!options_.required) return sinks;
  sinks.write_before = [this](const runtime::AuditEntry& entry, std::function<void(Status)> then) {
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
  const runtime::AskedChange& change = entry.change;
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
      [this, text = LineOf(entry, not_logged)] { Report(file_.Append(text)); }, urgency);
  if (!queued) ++lost_;
}

void AuditFile::Write(const runtime::AuditEntry& entry, std::function<void(Status)> then) {
  const bool queued = worker_.Post(
      [this, text = LineOf(entry, 0), then] {
        const Status written = file_.Append(text);
        Report(written);
        then(written);
      },
      runtime::Worker::Urgency::kUrgent);
  if (queued) return;
  ++lost_;
  then(Error{ErrorCode::kUnavailable, "too many lines wait for the disk: try again in a moment"});
}

void AuditFile::Refused(const access::Caller& caller, std::string_view what,
                        const access::Refused& refused) {
  Write({.change =
             {.caller = caller, .verb = OneLine(what, kLongestWhat), .target = {}, .claimed = {}},
         .result = runtime::AuditEntry::Result::kRefused,
         .error = refused.line});
}

void AuditFile::Report(const Status& written) {
  if (!written) {
    ++lost_;
    if (std::exchange(failing_, true)) return;
    return log::Error(written.error().message +
                      (options_.required ? "; until it can be written, no change is made"
                                         : "; until it can be written, only the log has what "
                                           "operators ask for"));
  }
  if (std::exchange(failing_, false)) {
    return log::Warn("--audit-file is written again", {{"lost", lost_.exchange(0)}});
  }
  const auto now = std::chrono::steady_clock::now();
  if (lost_.load() == 0 || now < quiet_until_) return;
  quiet_until_ = now + kSayLostAgain;
  log::Warn("lines of --audit-file are lost, because the disk is slow",
            {{"lost", lost_.exchange(0)}});
}

}  // namespace baton::app
