#include "app/daemon/audit_file.h"

#include <chrono>
#include <utility>

#include <boost/json.hpp>

#include "base/escape.h"
#include "base/log.h"
#include "base/timestamp.h"

namespace baton::app {
namespace {

constexpr std::size_t kMaxWaiting = 1000;
constexpr std::chrono::minutes kSayLostAgain{1};

const char* WordOf(runtime::AuditEntry::Result result) {
  using Result = runtime::AuditEntry::Result;
  return result == Result::kDone ? "done" : result == Result::kFailed ? "failed" : "refused";
}

}  // namespace

Result<std::unique_ptr<AuditFile>> AuditFile::Open(std::string path, std::string group,
                                                   std::string node) {
  std::unique_ptr<AuditFile> file(
      new AuditFile(std::move(path), std::move(group), std::move(node)));
  if (const Status opened = file->file_.Open(); !opened) return opened.error();
  return file;
}

AuditFile::AuditFile(std::string path, std::string group, std::string node)
    : group_(std::move(group)),
      node_(std::move(node)),
      file_("--audit-file", std::move(path), 0600),
      worker_(kMaxWaiting) {}

void AuditFile::Write(const runtime::AuditEntry& entry) {
  const runtime::AskedChange& change = entry.change;
  const boost::json::object line{{"at", Timestamp(std::chrono::system_clock::now())},
                                 {"group", group_},
                                 {"node", node_},
                                 {"verb", change.verb},
                                 {"target", change.target},
                                 {"dry_run", change.dry_run},
                                 {"by", access::NameOf(change.caller)},
                                 {"claimed", change.claimed},
                                 {"peer", change.caller.peer},
                                 {"result", WordOf(entry.result)},
                                 {"error", entry.error},
                                 {"not_logged", entry.not_logged}};
  const bool queued =
      worker_.Post([this, text = SafeJson(boost::json::serialize(line)) + "\n"] { Append(text); });
  if (!queued) ++lost_;
}

void AuditFile::Append(const std::string& line) {
  const Status written = file_.Append(line);
  if (!written) {
    ++lost_;
    if (std::exchange(failing_, true)) return;
    return log::Error(written.error().message +
                      "; until it can be written, only the log has what "
                      "operators ask for");
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
