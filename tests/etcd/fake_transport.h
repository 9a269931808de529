// FakeTransport: a transport whose answers the test writes, for faults that a real etcd does not
// show on demand (lost answers, refusals, repeated events). It keeps calls until the test answers
// them. Everything happens on the test's thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "etcd/transport.h"

namespace baton::etcd::testing {

template <typename Request, typename Response>
struct FakeCall {
  std::string avoid = {};  ///< of a Range
  Request request;
  std::chrono::milliseconds deadline{0};
  ReplyHandler<Response> handler;

  void Answer(Response response) const {
    handler(
        {.status = {.outcome = Outcome::kDone, .message = {}}, .response = std::move(response)});
  }
  void Fail(CallStatus status) const { handler({.status = std::move(status), .response = {}}); }
};
using FakeRange = FakeCall<etcdserverpb::RangeRequest, etcdserverpb::RangeResponse>;
using FakeTxn = FakeCall<etcdserverpb::TxnRequest, etcdserverpb::TxnResponse>;
using FakeRevoke = FakeCall<etcdserverpb::LeaseRevokeRequest, etcdserverpb::LeaseRevokeResponse>;
using FakeTimeToLive =
    FakeCall<etcdserverpb::LeaseTimeToLiveRequest, etcdserverpb::LeaseTimeToLiveResponse>;

inline CallStatus Unknown() {
  return {.outcome = Outcome::kUnknown, .code = 14, .message = "unavailable"};
}
inline CallStatus RefusedBecause(std::string why) {
  return {.outcome = Outcome::kRefused, .code = 11, .message = std::move(why)};
}

struct FakeWatch {
  etcdserverpb::WatchCreateRequest request;
  std::string avoid;
  WatchHandler handler;
  std::string endpoint;
  bool open = true;
  int progress_requests = 0;
};

class FakeTransport final : public Transport {
 public:
  /// The oldest unanswered call. REQUIRES: there is one.
  FakeRange TakeRange() { return Take(ranges); }
  FakeTxn TakeTxn() { return Take(txns); }
  FakeRevoke TakeRevoke() { return Take(revocations); }
  FakeTimeToLive TakeTimeToLive() { return Take(examinations); }

  std::deque<FakeRange> ranges;
  std::deque<FakeTxn> txns;
  /// If set, it answers each transaction at once, for callers that wait for the answer.
  std::function<void(const FakeTxn&)> on_txn;
  std::deque<FakeRevoke> revocations;
  std::deque<FakeTimeToLive> examinations;
  int sent_elsewhere = 0;                           ///< of the transactions
  std::vector<std::shared_ptr<FakeWatch>> watches;  ///< all that were ever opened

  void RangeAvoiding(const std::string& avoid, etcdserverpb::RangeRequest request,
                     std::chrono::milliseconds deadline,
                     ReplyHandler<etcdserverpb::RangeResponse> handler) override {
    ranges.push_back(
        {.avoid = avoid, .request = request, .deadline = deadline, .handler = std::move(handler)});
  }
  void Txn(std::shared_ptr<const etcdserverpb::TxnRequest> request,
           std::chrono::milliseconds deadline,
           ReplyHandler<etcdserverpb::TxnResponse> handler) override {
    txns.push_back({.request = *request, .deadline = deadline, .handler = std::move(handler)});
    if (on_txn) on_txn(TakeTxn());
  }
  void TxnElsewhere(std::shared_ptr<const etcdserverpb::TxnRequest> request,
                    std::chrono::milliseconds deadline,
                    ReplyHandler<etcdserverpb::TxnResponse> handler) override {
    ++sent_elsewhere;
    Txn(std::move(request), deadline, std::move(handler));
  }
  std::unique_ptr<WatchStream> OpenWatch(const etcdserverpb::WatchCreateRequest& request,
                                         const std::string& avoid, WatchHandler handler) override {
    auto watch = std::make_shared<FakeWatch>();
    watch->request = request;
    watch->avoid = avoid;
    watch->handler = std::move(handler);
    watch->endpoint = "e" + std::to_string(watches.size());
    watches.push_back(watch);
    return std::make_unique<Stream>(watch);
  }

  void LeaseGrant(etcdserverpb::LeaseGrantRequest, std::chrono::milliseconds,
                  ReplyHandler<etcdserverpb::LeaseGrantResponse>) override {
    BATON_CHECK(false);
  }
  void LeaseRevoke(etcdserverpb::LeaseRevokeRequest request, std::chrono::milliseconds deadline,
                   ReplyHandler<etcdserverpb::LeaseRevokeResponse> handler) override {
    revocations.push_back(
        {.request = std::move(request), .deadline = deadline, .handler = std::move(handler)});
  }
  void LeaseTimeToLive(etcdserverpb::LeaseTimeToLiveRequest request,
                       std::chrono::milliseconds deadline,
                       ReplyHandler<etcdserverpb::LeaseTimeToLiveResponse> handler) override {
    examinations.push_back(
        {.request = std::move(request), .deadline = deadline, .handler = std::move(handler)});
  }
  void MaintenanceStatus(std::chrono::milliseconds,
                         ReplyHandler<etcdserverpb::StatusResponse>) override {
    BATON_CHECK(false);
  }
  std::unique_ptr<KeepAliveStream> OpenKeepAlive(std::int64_t, const std::string&,
                                                 KeepAliveHandler) override {
    BATON_CHECK(false);
    return nullptr;
  }

 private:
  class Stream final : public WatchStream {
   public:
    explicit Stream(std::shared_ptr<FakeWatch> watch) : watch_(std::move(watch)) {}
    ~Stream() override { watch_->open = false; }
    void RequestProgress() override { ++watch_->progress_requests; }
    std::string endpoint() const override { return watch_->endpoint; }

   private:
    const std::shared_ptr<FakeWatch> watch_;
  };

  template <typename Call>
  static Call Take(std::deque<Call>& calls) {
    BATON_CHECK(!calls.empty());
    Call call = std::move(calls.front());
    calls.pop_front();
    return call;
  }
};

}  // namespace baton::etcd::testing
