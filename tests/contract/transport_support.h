// Shared by the transport's contract tests: a transport to a private etcd, calls that wait for
// their answer, and recorders for streams. Every wait is bounded; nothing sleeps for a fixed time.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_code.h"
#include "etcd/grpc/transport.h"
#include "gtest/gtest.h"
#include "lab/private_etcd.h"

namespace baton::etcd::test {

inline constexpr std::chrono::seconds kPatience{30};
inline constexpr std::chrono::seconds kDeadline{10};

/// Values that callbacks add and the test waits for.
template <typename Value>
class Recorder {
 public:
  void Add(Value value) {
    const std::lock_guard lock(mutex_);
    values_.push_back(std::move(value));
    added_.notify_all();
  }
  /// Returns all values once `done(values)`; after kPatience, those that are there.
  std::vector<Value> WaitUntil(const std::function<bool(const std::vector<Value>&)>& done,
                               std::chrono::milliseconds patience = kPatience) {
    std::unique_lock lock(mutex_);
    added_.wait_for(lock, patience, [&] { return done(values_); });
    return values_;
  }
  std::vector<Value> WaitForCount(std::size_t count,
                                  std::chrono::milliseconds patience = kPatience) {
    return WaitUntil([count](const auto& values) { return values.size() >= count; }, patience);
  }
  std::vector<Value> Values() {
    const std::lock_guard lock(mutex_);
    return values_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable added_;
  std::vector<Value> values_;
};

/// Starts a call and waits for its one answer.
template <typename Response>
Reply<Response> Await(const std::function<void(ReplyHandler<Response>)>& start) {
  const auto answers = std::make_shared<Recorder<Reply<Response>>>();
  start([answers](Reply<Response> reply) { answers->Add(std::move(reply)); });
  std::vector<Reply<Response>> got = answers->WaitForCount(1);
  EXPECT_EQ(got.size(), 1u) << "no answer";
  return got.empty() ? Reply<Response>{} : std::move(got.front());
}

inline Reply<etcdserverpb::RangeResponse> Get(Transport& transport, const std::string& key,
                                              std::chrono::milliseconds deadline = kDeadline) {
  etcdserverpb::RangeRequest request;
  request.set_key(key);
  return Await<etcdserverpb::RangeResponse>(
      [&](auto handler) { transport.Range(request, deadline, std::move(handler)); });
}

inline Reply<etcdserverpb::TxnResponse> Commit(Transport& transport,
                                               const etcdserverpb::TxnRequest& request,
                                               std::chrono::milliseconds deadline = kDeadline) {
  return Await<etcdserverpb::TxnResponse>([&](auto handler) {
    transport.Txn(std::make_shared<etcdserverpb::TxnRequest>(request), deadline,
                  std::move(handler));
  });
}

inline void AddPut(etcdserverpb::TxnRequest& txn, const std::string& key, const std::string& value,
                   std::int64_t lease = 0) {
  auto* put = txn.add_success()->mutable_request_put();
  put->set_key(key);
  put->set_value(value);
  put->set_lease(lease);
}

inline Reply<etcdserverpb::TxnResponse> Put(Transport& transport, const std::string& key,
                                            const std::string& value,
                                            std::chrono::milliseconds deadline = kDeadline) {
  etcdserverpb::TxnRequest request;
  AddPut(request, key, value);
  return Commit(transport, request, deadline);
}

inline Reply<etcdserverpb::LeaseGrantResponse> Grant(Transport& transport, std::int64_t id,
                                                     std::int64_t ttl) {
  etcdserverpb::LeaseGrantRequest request;
  request.set_id(id);
  request.set_ttl(ttl);
  return Await<etcdserverpb::LeaseGrantResponse>(
      [&](auto handler) { transport.LeaseGrant(request, kDeadline, std::move(handler)); });
}

inline Reply<etcdserverpb::LeaseRevokeResponse> Revoke(Transport& transport, std::int64_t id) {
  etcdserverpb::LeaseRevokeRequest request;
  request.set_id(id);
  return Await<etcdserverpb::LeaseRevokeResponse>(
      [&](auto handler) { transport.LeaseRevoke(request, kDeadline, std::move(handler)); });
}

inline Reply<etcdserverpb::LeaseTimeToLiveResponse> TimeToLive(Transport& transport,
                                                               std::int64_t id) {
  etcdserverpb::LeaseTimeToLiveRequest request;
  request.set_id(id);
  return Await<etcdserverpb::LeaseTimeToLiveResponse>(
      [&](auto handler) { transport.LeaseTimeToLive(request, kDeadline, std::move(handler)); });
}

inline Reply<etcdserverpb::StatusResponse> ServerStatus(
    Transport& transport, std::chrono::milliseconds deadline = kDeadline) {
  return Await<etcdserverpb::StatusResponse>(
      [&](auto handler) { transport.MaintenanceStatus(deadline, std::move(handler)); });
}

/// A watch, and a log of its callbacks.
struct WatchLog {
  Recorder<etcdserverpb::WatchResponse> responses;
  Recorder<CallStatus> ended;

  WatchHandler Handler() {
    return {
        .response =
            [this](etcdserverpb::WatchResponse response) { responses.Add(std::move(response)); },
        .ended = [this](CallStatus status) { ended.Add(std::move(status)); }};
  }
  bool WaitUntilCreated() {
    const auto got = responses.WaitForCount(1);
    return !got.empty() && got.front().created();
  }
  /// Waits until `count` events came, and returns them.
  std::vector<etcdserverpb::Event> WaitForEvents(std::size_t count) {
    std::vector<etcdserverpb::Event> events;
    const auto collect = [&events](const std::vector<etcdserverpb::WatchResponse>& all) {
      events.clear();
      for (const auto& response : all) {
        events.insert(events.end(), response.events().begin(), response.events().end());
      }
      return events.size();
    };
    responses.WaitUntil([&](const auto& all) { return collect(all) >= count; });
    return events;
  }
};

struct KeepAliveLog {
  Recorder<etcdserverpb::LeaseKeepAliveResponse> answers;
  Recorder<CallStatus> ended;

  KeepAliveHandler Handler() {
    return {.answered =
                [this](etcdserverpb::LeaseKeepAliveResponse response) {
                  answers.Add(std::move(response));
                },
            .ended = [this](CallStatus status) { ended.Add(std::move(status)); }};
  }
};

inline etcdserverpb::WatchCreateRequest WatchFrom(const std::string& key, std::int64_t revision) {
  etcdserverpb::WatchCreateRequest request;
  request.set_key(key);
  request.set_range_end(key + "\xff");
  request.set_start_revision(revision);
  return request;
}

/// Starts etcd; if that fails, ends the current test with the reason.
inline std::unique_ptr<lab::PrivateEtcd> StartEtcd(const lab::PrivateEtcdOptions& options) {
  auto started = lab::PrivateEtcd::Start(options);
  if (!started) {
    ADD_FAILURE() << started.error().message;
    return nullptr;
  }
  return std::move(started).value();
}

inline std::unique_ptr<GrpcTransport> Connect(GrpcTransportOptions options) {
  options.first = FirstEndpoint::kFirst;
  auto created = GrpcTransport::Create(std::move(options));
  if (!created) {
    ADD_FAILURE() << created.error().message;
    return nullptr;
  }
  return std::move(created).value();
}

}  // namespace baton::etcd::test
