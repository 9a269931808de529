#include "e2e/etcd_client.h"

#include <future>
#include <utility>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/subprocess.h"
#include "e2e/world.h"

namespace baton::e2e {
namespace {

constexpr std::chrono::seconds kDeadline{20};

template <typename Response, typename Start>
Response Await(const char* what, const Start& start) {
  const auto answer = std::make_shared<std::promise<etcd::Reply<Response>>>();
  auto arrived = answer->get_future();
  start([answer](etcd::Reply<Response> reply) { answer->set_value(std::move(reply)); });
  etcd::Reply<Response> reply = arrived.get();  // the transport answers by the deadline
  EXPECT_TRUE(reply.status.ok()) << what << ": " << reply.status.message;
  return std::move(reply.response);
}

}  // namespace

EtcdClient::EtcdClient(const std::vector<std::string>& endpoints) : endpoint_(endpoints.front()) {
  auto created = etcd::GrpcTransport::Create(OperatorOptions(endpoints));
  if (!created) {
    ADD_FAILURE() << created.error().message;
    std::abort();  // nothing in this binary can run
  }
  transport_ = std::move(created).value();
}

etcdserverpb::RangeResponse EtcdClient::Range(const etcdserverpb::RangeRequest& request) {
  return Await<etcdserverpb::RangeResponse>(
      "range", [&](auto handler) { transport_->Range(request, kDeadline, std::move(handler)); });
}

std::int64_t EtcdClient::Commit(const etcdserverpb::TxnRequest& request) {
  const auto response = Await<etcdserverpb::TxnResponse>("txn", [&](auto handler) {
    transport_->Txn(std::make_shared<etcdserverpb::TxnRequest>(request), kDeadline,
                    std::move(handler));
  });
  return response.header().revision();
}

std::optional<etcdserverpb::KeyValue> EtcdClient::Get(const std::string& key,
                                                      std::int64_t revision) {
  etcdserverpb::RangeRequest request;
  request.set_key(key);
  request.set_revision(revision);
  const etcdserverpb::RangeResponse response = Range(request);
  if (response.kvs().empty()) return std::nullopt;
  return response.kvs(0);
}

std::vector<etcdserverpb::KeyValue> EtcdClient::List(const std::string& prefix) {
  etcdserverpb::RangeRequest request;
  request.set_key(prefix);
  std::string end = prefix;
  ++end.back();
  request.set_range_end(end);
  const etcdserverpb::RangeResponse response = Range(request);
  return {response.kvs().begin(), response.kvs().end()};
}

std::int64_t EtcdClient::Put(const std::string& key, const std::string& value, std::int64_t lease) {
  etcdserverpb::TxnRequest request;
  auto* const put = request.add_success()->mutable_request_put();
  put->set_key(key);
  put->set_value(value);
  put->set_lease(lease);
  return Commit(request);
}

void EtcdClient::Delete(const std::string& key) {
  etcdserverpb::TxnRequest request;
  request.add_success()->mutable_request_delete_range()->set_key(key);
  Commit(request);
}

void EtcdClient::Revoke(std::int64_t lease) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(lease);
  Await<etcdserverpb::LeaseRevokeResponse>("revoke", [&](auto handler) {
    transport_->LeaseRevoke(request, kDeadline, std::move(handler));
  });
}

std::int64_t EtcdClient::Revision() {
  etcdserverpb::RangeRequest request;
  request.set_key("/none");
  return Range(request).header().revision();
}

std::int64_t EtcdClient::DatabaseBytes() {
  const auto response = Await<etcdserverpb::StatusResponse>("status", [&](auto handler) {
    transport_->MaintenanceStatus(kDeadline, std::move(handler));
  });
  return response.dbsize();
}

void EtcdClient::Compact(std::int64_t revision) {
  std::vector<std::string> line = {"etcdctl",    "--endpoints", endpoint_,
                                   "compaction", "--physical",  std::to_string(revision)};
  const std::vector<std::string> etcd = EtcdctlFlags();
  line.insert(line.end(), etcd.begin(), etcd.end());
  const auto status = RunProgram({.arguments = line, .environment = {"ETCDCTL_API=3"}},
                                 BootClock::now() + kDeadline);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_TRUE(status.value().success()) << ToString(status.value());
}

}  // namespace baton::e2e
