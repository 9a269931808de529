#include "sim/model_check/runner.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "sim/model_check/normal.h"

namespace baton::sim {
namespace {

constexpr milliseconds kDeadline{20000};
// Clocks may round, and etcd 3.4 counts by the wall clock.
constexpr Duration kTtlSlack = milliseconds(200);
constexpr std::int64_t kModelsFirstRevision = 2;  // the revision of kFirstKey's put

const std::string kEverything(1, '\0');
const std::string kEnded = "ended: ";

// One entry for each event or notice: etcd does not promise how events share messages.
void AddEntries(const pb::WatchResponse& response, std::int64_t offset,
                std::vector<std::string>& log) {
  for (const pb::Event& event : response.events()) log.push_back(Normal(event, offset));
  if (response.events_size() == 0) log.push_back("says " + Normal(response, offset));
}

std::string Summary(const pb::WatchResponse& response, std::int64_t offset) {
  std::set<std::int64_t> revisions;
  for (const pb::Event& event : response.events()) revisions.insert(event.kv().mod_revision());
  const std::int64_t last = revisions.empty() ? 0 : *revisions.rbegin() - offset;
  return std::to_string(revisions.size()) + " up to " + std::to_string(last) + ", the header has " +
         std::to_string(response.header().revision() - offset);
}

}  // namespace

Runner::Runner(Party& party) : party_(party) {
  pb::TxnRequest empty;
  auto* everything = empty.add_success()->mutable_request_delete_range();
  everything->set_key(kEverything);
  everything->set_range_end(kEverything);
  Commit(empty);
  pb::TxnRequest put;
  put.add_success()->mutable_request_put()->set_key(kFirstKey);
  const std::int64_t revision = Commit(put).header().revision();
  BATON_CHECK(party_.Compact(revision).none());
  offset_ = revision - kModelsFirstRevision;
}

Runner::~Runner() {
  for (const auto& [id, lease] : leases_) {
    pb::LeaseRevokeRequest request;
    request.set_id(id);
    Ask(request);
  }
}

std::string Runner::Do(const Operation& operation) {
  return std::visit([this](const auto& one) { return Ask(one); }, operation);
}

// ---- calls

template <typename Response, typename Start>
etcd::Reply<Response> Runner::Await(const Start& start) {
  const auto answer = std::make_shared<std::optional<etcd::Reply<Response>>>();
  start([&party = party_, answer](etcd::Reply<Response> reply) {
    party.Note([&] { answer->emplace(std::move(reply)); });
  });
  if (!party_.Until([&] { return answer->has_value(); })) {
    return {.status = {.message = "no answer at all"}, .response = {}};
  }
  return std::move(**answer);
}

template <typename Response>
std::string Runner::Words(const etcd::Reply<Response>& reply) const {
  if (!reply.status.ok()) return Normal(reply.status, offset_);
  return Normal(reply.response, offset_);
}

pb::TxnResponse Runner::Commit(const pb::TxnRequest& request) {
  auto reply = Await<pb::TxnResponse>([&](auto handler) {
    party_.transport().Txn(std::make_shared<const pb::TxnRequest>(request), kDeadline, handler);
  });
  BATON_CHECK(reply.status.ok());
  return std::move(reply.response);
}

std::int64_t Runner::Revision() { return Commit({}).header().revision() - offset_; }

std::string Runner::Ask(pb::RangeRequest request) {
  Shift(request, offset_);
  return Words(Await<pb::RangeResponse>(
      [&](auto handler) { party_.transport().Range(request, kDeadline, handler); }));
}

std::string Runner::Ask(pb::TxnRequest request) {
  Shift(request, offset_);
  return Words(Await<pb::TxnResponse>([&](auto handler) {
    party_.transport().Txn(std::make_shared<const pb::TxnRequest>(request), kDeadline, handler);
  }));
}

std::string Runner::Ask(const AskStatus&) {
  const auto reply = Await<pb::StatusResponse>(
      [&](auto handler) { party_.transport().MaintenanceStatus(kDeadline, handler); });
  // Sizes and raft's own numbers depend on the machine.
  pb::StatusResponse kept;
  *kept.mutable_header() = reply.response.header();
  if (!reply.status.ok()) return Normal(reply.status, offset_);
  return Normal(kept, offset_) + (reply.response.leader() != 0 ? " led" : " without a leader");
}

std::string Runner::Ask(const pb::CompactionRequest& request) {
  pb::CompactionRequest shifted = request;
  Shift(shifted, offset_);
  const Failure failure = party_.Compact(shifted.revision());
  return std::to_string(failure.code) + " " + failure.message;
}

// ---- leases

std::string Runner::Ask(const pb::LeaseGrantRequest& request) {
  const Duration asked = party_.Now();
  const auto reply = Await<pb::LeaseGrantResponse>(
      [&](auto handler) { party_.transport().LeaseGrant(request, kDeadline, handler); });
  if (reply.status.ok()) {
    leases_[request.id()] = {.ttl = reply.response.ttl(), .asked = asked, .answered = party_.Now()};
  }
  return Words(reply);
}

std::string Runner::Ask(const pb::LeaseRevokeRequest& request) {
  return Words(Await<pb::LeaseRevokeResponse>(
      [&](auto handler) { party_.transport().LeaseRevoke(request, kDeadline, handler); }));
}

std::string Runner::Ask(const KeepAlive& operation) {
  Renewals& renewals = renewals_[operation.lease];
  const auto log = renewals.log;
  if (renewals.stream == nullptr) {
    const auto answered = [&party = party_, log,
                           offset = offset_](const pb::LeaseKeepAliveResponse& response) {
      party.Note([&] { log->push_back(Normal(response, offset)); });
    };
    const auto ended = [&party = party_, log, offset = offset_](const etcd::CallStatus& status) {
      party.Note([&] { log->push_back(kEnded + Normal(status, offset)); });
    };
    renewals.stream = party_.transport().OpenKeepAlive(operation.lease, "",
                                                       {.answered = answered, .ended = ended});
  }
  std::size_t before = 0;
  party_.Note([&] { before = log->size(); });
  const Duration asked = party_.Now();
  renewals.stream->Send();
  if (!party_.Until([&] { return log->size() > before; })) return "no answer to a keepalive";
  const auto found = leases_.find(operation.lease);
  if (found != leases_.end()) {
    found->second.asked = asked;
    found->second.answered = party_.Now();
  }
  std::string last;
  party_.Note([&] { last = log->back(); });
  return last;
}

// The remaining TTL lies between what the renewal and this question allow, in whole seconds.
std::string Runner::JudgeTtl(const Lease& lease, std::int64_t ttl, Duration asked) const {
  const Duration granted = seconds(lease.ttl);
  const auto least = (granted - (party_.Now() - lease.asked) - kTtlSlack) / seconds(1);
  const auto most = (granted - (asked - lease.answered) + kTtlSlack) / seconds(1);
  if (ttl >= least && ttl <= most) return " TTL as it should be";
  return " TTL " + std::to_string(ttl) + ", not " + std::to_string(least) + " to " +
         std::to_string(most);
}

std::string Runner::Ask(const pb::LeaseTimeToLiveRequest& request) {
  const Duration asked = party_.Now();
  auto reply = Await<pb::LeaseTimeToLiveResponse>(
      [&](auto handler) { party_.transport().LeaseTimeToLive(request, kDeadline, handler); });
  if (!reply.status.ok()) return Words(reply);
  const auto found = leases_.find(request.id());
  const std::int64_t ttl = reply.response.ttl();
  if (ttl < 0 || found == leases_.end()) return Words(reply);
  // etcd lists a lease's keys in no order.
  auto* keys = reply.response.mutable_keys();
  std::sort(keys->begin(), keys->end());
  reply.response.clear_ttl();
  return Words(reply) + JudgeTtl(found->second, ttl, asked);
}

// ---- watches

std::string Runner::Ask(const OpenWatch& operation) {
  Watcher& opened = watcher(operation.watcher);
  opened = {};
  pb::WatchCreateRequest request = operation.request;
  Shift(request, offset_);
  const auto log = opened.log;
  const auto response = [&party = party_, log, messages = opened.messages,
                         offset = offset_](const pb::WatchResponse& message) {
    party.Note([&] {
      AddEntries(message, offset, *log);
      messages->push_back(Summary(message, offset));
    });
  };
  const auto ended = [&party = party_, log, offset = offset_](const etcd::CallStatus& status) {
    party.Note([&] { log->push_back(kEnded + Normal(status, offset)); });
  };
  opened.stream = party_.transport().OpenWatch(request, "", {.response = response, .ended = ended});
  return AwaitTold(operation.watcher, 1) ? Told(operation.watcher).front() : "not created";
}

std::string Runner::Ask(const AskProgress& operation) {
  const std::vector<std::string> before = Told(operation.watcher);
  if (before.empty() || before.back().starts_with(kEnded)) return "nobody to ask";
  watcher(operation.watcher).stream->RequestProgress();
  const auto log = watcher(operation.watcher).log;
  const auto told = [&] { return log->size() > before.size(); };
  return party_.Until(told, operation.patience) ? Told(operation.watcher).back() : kNoProgress;
}

std::string Runner::Ask(const CancelWatch& operation) {
  watcher(operation.watcher).stream.reset();
  return "";
}

std::vector<std::string> Runner::Told(int watcher) {
  std::vector<std::string> told;
  party_.Note([&] { told = *this->watcher(watcher).log; });
  return told;
}

std::vector<std::string> Runner::Messages(int watcher) {
  std::vector<std::string> messages;
  party_.Note([&] { messages = *this->watcher(watcher).messages; });
  return messages;
}

bool Runner::AwaitTold(int watcher, std::size_t entries) {
  const auto log = this->watcher(watcher).log;
  return party_.Until([&] { return log->size() >= entries; });
}

}  // namespace baton::sim
