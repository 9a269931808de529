#include "runtime/doctor/etcd_checkup.h"

#include <algorithm>
#include <array>
#include <future>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "etcd/advice.h"
#include "etcd/ask.h"
#include "etcd/grpc/transport.h"
#include "etcd/keyspace.h"
#include "runtime/node_options.h"

namespace baton::runtime {
namespace {

constexpr int kOutOfRange = 11;       // gRPC's code for a compacted revision
constexpr int kPermissionDenied = 7;  // gRPC's code for a role that lacks a permission
constexpr int kUnauthenticated = 16;  // gRPC's code for an unknown user
constexpr std::size_t kCommits = 3;

etcd::Reply<etcdserverpb::RangeResponse> Read(etcd::Transport& etcd,
                                              etcdserverpb::RangeRequest request) {
  return etcd::Ask<etcdserverpb::RangeResponse>(
      [&](auto handler) { etcd.Range(std::move(request), kCheckupCall, std::move(handler)); });
}

bool Refused(const etcd::CallStatus& status) {
  return status.code == kPermissionDenied || status.code == kUnauthenticated ||
         status.message.find(kWrongPassword) != std::string::npos;
}

void NoteFailure(const etcd::CallStatus& status, std::string* refused, EndpointCheckup* out) {
  (Refused(status) ? *refused : out->failed) = status.message;
}

/// False: the endpoint does not answer.
bool LookAtServer(etcd::Transport& etcd, EndpointCheckup* out) {
  const auto reply = etcd::Ask<etcdserverpb::StatusResponse>(
      [&](auto handler) { etcd.MaintenanceStatus(kCheckupCall, std::move(handler)); });
  // An etcd with authentication may refuse to give its status.
  if (!reply.status.ok() && !Refused(reply.status)) out->unreachable = reply.status.message;
  if (!reply.status.ok()) return out->unreachable.empty();
  const etcdserverpb::StatusResponse& said = reply.response;
  out->version = said.version();
  out->faults = etcd::FaultsOf(said.version());
  out->cluster = said.header().cluster_id();
  out->has_leader = said.leader() != 0;
  out->learner = said.islearner();
  out->applied = static_cast<std::int64_t>(said.raftappliedindex());
  out->size_bytes = said.dbsize();
  out->used_bytes = said.dbsizeinuse();
  for (const std::string& error : said.errors()) {
    // "etcdserver: no leader" stands there, too: see has_leader.
    if (error.find("alarm:") != std::string::npos) out->alarms.push_back(error);
  }
  return true;
}

void LookAtReads(etcd::Transport& etcd, const etcd::Keyspace& keyspace, EndpointCheckup* out) {
  auto request = std::make_shared<etcdserverpb::TxnRequest>();
  const auto count = [&](const std::string& begin, const std::string& end) {
    etcdserverpb::RangeRequest& range = *request->add_success()->mutable_request_range();
    range.set_key(begin);
    range.set_range_end(end);
    range.set_count_only(true);
  };
  count(keyspace.begin(), keyspace.end());
  std::string quarantine_end = keyspace.QuarantinePrefix();
  quarantine_end.back() = '0';  // the character after '/'
  count(keyspace.QuarantinePrefix(), quarantine_end);
  const auto reply = etcd::Ask<etcdserverpb::TxnResponse>(
      [&](auto handler) { etcd.Txn(request, kCheckupCall, std::move(handler)); });
  if (!reply.status.ok()) NoteFailure(reply.status, &out->read_refused, out);
  out->revision = Revision{reply.response.header().revision()};
  if (reply.response.responses_size() == 2) {
    out->quarantined = reply.response.responses(1).response_range().count();
  }
}

void LookAtWrites(etcd::Transport& etcd, const etcd::Keyspace& keyspace, EndpointCheckup* out) {
  auto request = std::make_shared<etcdserverpb::TxnRequest>();
  request->add_success()->mutable_request_delete_range()->set_key(keyspace.ConfirmationKey());
  std::array<std::chrono::nanoseconds, kCommits> took{};
  for (auto& one : took) {
    const TimePoint began = BootClock::now();
    const auto reply = etcd::Ask<etcdserverpb::TxnResponse>(
        [&](auto handler) { etcd.Txn(request, kCheckupCall, std::move(handler)); });
    one = BootClock::now() - began;
    if (reply.status.ok()) continue;
    return NoteFailure(reply.status, &out->write_refused, out);
  }
  std::sort(took.begin(), took.end());
  out->commit = took[kCommits / 2];
}

void LookAtHistory(etcd::Transport& etcd, const etcd::Keyspace& keyspace, EndpointCheckup* out) {
  etcdserverpb::RangeRequest request;
  request.set_key(keyspace.ConfirmationKey());
  request.set_revision(1);
  const auto reply = Read(etcd, std::move(request));
  if (reply.status.ok()) out->compacted = false;
  if (reply.status.code == kOutOfRange) out->compacted = true;
}

EndpointCheckup Check(const EtcdOptions& options, const etcd::Keyspace& keyspace) {
  EndpointCheckup out;
  out.endpoint = options.endpoints.front();
  auto transport = etcd::GrpcTransport::Create(TransportOptionsOf(options));
  if (!transport) {
    out.unreachable = transport.error().message;
    return out;
  }
  etcd::Transport& etcd = *transport.value();
  if (!LookAtServer(etcd, &out)) return out;
  LookAtReads(etcd, keyspace, &out);
  if (!out.read_refused.empty() || !out.failed.empty()) return out;
  LookAtWrites(etcd, keyspace, &out);
  LookAtHistory(etcd, keyspace, &out);
  return out;
}

}  // namespace

std::vector<EndpointCheckup> CheckEtcd(const EtcdOptions& options, const std::string& group) {
  const etcd::Keyspace keyspace(options.prefix, group);
  std::vector<std::future<EndpointCheckup>> running;
  for (const std::string& endpoint : options.endpoints) {
    if (running.size() == kMaxExamined) break;
    EtcdOptions one = options;
    one.endpoints = {endpoint};
    running.push_back(std::async(
        std::launch::async, [one = std::move(one), &keyspace] { return Check(one, keyspace); }));
  }
  std::vector<EndpointCheckup> all;
  for (auto& future : running) all.push_back(future.get());
  return all;
}

}  // namespace baton::runtime
