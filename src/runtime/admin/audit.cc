#include "runtime/admin/audit.h"

#include <string_view>
#include <utility>

#include "base/escape.h"

namespace baton::runtime {
namespace {

constexpr std::chrono::seconds kRefusalsEvery{1};
constexpr std::size_t kLongestError = 256;

}  // namespace

std::string ActorOf(const RequestedChange& change) {
  std::string actor = access::NameOf(change.caller);
  if (!access::IsProven(change.caller) && change.claimed != change.caller.peer) {
    actor += ", says " + change.claimed;
  }
  return OneLineWithin(actor, kLongestActor);
}

void Audit::Ask(const RequestedChange& change, std::function<void(Status)> then) const {
  if (!sinks_.write_before) return then(Ok());
  sinks_.write_before({.change = change, .result = AuditEntry::Result::kAsked}, std::move(then));
}

void Audit::Answered(const RequestedChange& change, const grpc::Status& status) const {
  const std::string error = OneLine(status.error_message(), kLongestError);
  log_(LogLevel::kInfo, "change",
       {{"verb", change.verb},
        {"target", change.target},
        {"dry_run", change.dry_run},
        {"by", access::NameOf(change.caller)},
        {"claimed", change.claimed},
        {"peer", change.caller.peer},
        {"done", status.ok()},
        {"error", error}});
  if (!sinks_.write) return;
  using Result = AuditEntry::Result;
  sinks_.write(
      {.change = change, .result = status.ok() ? Result::kDone : Result::kFailed, .error = error});
}

void Audit::Refused(const RequestedChange& change, const std::string& why) {
  const std::string error = OneLine(why, kLongestError);
  if (sinks_.write) {
    sinks_.write({.change = change, .result = AuditEntry::Result::kRefused, .error = error});
  }
  std::uint64_t unsaid = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < quiet_until_) {
      ++unsaid_;
      return;
    }
    quiet_until_ = now + kRefusalsEvery;
    unsaid = std::exchange(unsaid_, 0);
  }
  log_(LogLevel::kWarn, "change refused",
       {{"verb", change.verb},
        {"target", change.target},
        {"by", access::NameOf(change.caller)},
        {"claimed", change.claimed},
        {"peer", change.caller.peer},
        {"why", error},
        {"not_logged", unsaid}});
}

}  // namespace baton::runtime
