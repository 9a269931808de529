// Unary calls of GrpcTransport against a real etcd: every outcome, also in etcd's difficult cases.
#include "base/clock.h"
#include "contract/transport_support.h"

namespace baton::etcd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// No test here is about connecting, so a connection may take as long as a call: a busy machine is
/// no outage.
GrpcTransportOptions Patient(std::vector<std::string> endpoints) {
  return {.endpoints = std::move(endpoints), .connect_timeout = kDeadline};
}

class TransportUnary : public testing::Test {
 protected:
  void SetUp() override {
    etcd_ = StartEtcd({.members = 1});
    ASSERT_NE(etcd_, nullptr);
    transport_ = Connect(Patient(etcd_->endpoints()));
    ASSERT_NE(transport_, nullptr);
  }
  std::unique_ptr<lab::PrivateEtcd> etcd_;
  std::unique_ptr<GrpcTransport> transport_;
};

// Plan: commit, read back, read the member's state.
TEST_F(TransportUnary, CommitsAndReadsBack) {
  const auto put = Put(*transport_, "k", "v");
  ASSERT_TRUE(put.status.ok()) << put.status.message;
  const auto got = Get(*transport_, "k");
  ASSERT_EQ(got.response.kvs_size(), 1);
  EXPECT_EQ(got.response.kvs(0).value(), "v");
  EXPECT_EQ(got.response.kvs(0).mod_revision(), put.response.header().revision());
  EXPECT_EQ(ServerStatus(*transport_).response.version().substr(0, 2), "3.");
}

// Plan: freeze the only member: the call is answered unknown at its deadline, and the write may
// well be applied once the member goes on.
TEST_F(TransportUnary, AnswersUnknownAtTheDeadline) {
  ASSERT_TRUE(Put(*transport_, "k", "1").status.ok());
  etcd_->Pause(0);
  const TimePoint before = BootClock::now();
  const auto put = Put(*transport_, "k", "2", milliseconds(300));
  const Duration took = BootClock::now() - before;
  etcd_->Resume(0);
  EXPECT_EQ(put.status.outcome, Outcome::kUnknown);
  EXPECT_EQ(StatusCodeName(put.status.code), std::string("DEADLINE_EXCEEDED"));
  EXPECT_GE(took, milliseconds(290));
  EXPECT_LT(took, seconds(5));
  EXPECT_TRUE(Get(*transport_, "k").status.ok());
}

// Plan: a deadline of zero; the answer still comes, and not from inside the call.
TEST_F(TransportUnary, AnswersAlsoWhereThereIsNoTime) {
  etcd_->Pause(0);
  EXPECT_EQ(Put(*transport_, "k", "1", milliseconds(0)).status.outcome, Outcome::kUnknown);
  EXPECT_EQ(Get(*transport_, "k", milliseconds(-1)).status.outcome, Outcome::kUnknown);
}

TEST_F(TransportUnary, AnswersUnknownWhereNobodyListens) {
  etcd_->Kill(0);
  const auto put = Put(*transport_, "k", "1");
  EXPECT_EQ(put.status.outcome, Outcome::kUnknown);
  EXPECT_EQ(StatusCodeName(put.status.code), std::string("UNAVAILABLE"));
  EXPECT_NE(put.status.message.find(etcd_->endpoints()[0]), std::string::npos);
}

// Plan: 129 operations are one more than etcd's default.
TEST_F(TransportUnary, SaysWhereATransactionHasTooManyOperations) {
  etcdserverpb::TxnRequest request;
  for (int i = 0; i < 129; ++i) AddPut(request, "k" + std::to_string(i), "v");
  const auto refused = Commit(*transport_, request);
  EXPECT_EQ(refused.status.outcome, Outcome::kRefused);
  EXPECT_TRUE(refused.status.too_many_operations);
  EXPECT_FALSE(refused.status.too_large);
  EXPECT_FALSE(refused.status.permanent);
  request.mutable_success()->RemoveLast();
  EXPECT_TRUE(Commit(*transport_, request).status.ok());
}

// Plan: more than etcd's limit of 1.5 MiB for a request; more than its gRPC server reads at all.
TEST_F(TransportUnary, RefusesForGoodWhatIsTooLarge) {
  for (const std::size_t size : {std::size_t{1600} << 10, std::size_t{3} << 20}) {
    const auto refused = Put(*transport_, "k", std::string(size, 'x'));
    EXPECT_EQ(refused.status.outcome, Outcome::kRefused) << refused.status.message;
    EXPECT_TRUE(refused.status.permanent);
    EXPECT_TRUE(refused.status.too_large);
  }
}

TEST_F(TransportUnary, RefusesAPutOnALeaseThatIsGone) {
  etcdserverpb::TxnRequest request;
  AddPut(request, "k", "v", 4711);
  const auto refused = Commit(*transport_, request);
  EXPECT_EQ(refused.status.outcome, Outcome::kRefused);
  EXPECT_FALSE(refused.status.permanent);
  EXPECT_NE(refused.status.message.find("requested lease not found"), std::string::npos);
  EXPECT_EQ(Revoke(*transport_, 4711).status.outcome, Outcome::kRefused);
}

// Plan: grant twice with an id of our own: the second is refused as existing, the first is valid.
TEST_F(TransportUnary, MakesAGrantWithAnOwnIdIdempotent) {
  const auto granted = Grant(*transport_, 99, 30);
  ASSERT_TRUE(granted.status.ok());
  EXPECT_EQ(granted.response.id(), 99);
  EXPECT_EQ(granted.response.ttl(), 30);
  const auto again = Grant(*transport_, 99, 30);
  EXPECT_EQ(again.status.outcome, Outcome::kRefused);
  EXPECT_NE(again.status.message.find("lease already exists"), std::string::npos);
  EXPECT_EQ(TimeToLive(*transport_, 99).response.grantedttl(), 30);
  EXPECT_TRUE(Revoke(*transport_, 99).status.ok());
  EXPECT_EQ(TimeToLive(*transport_, 99).response.ttl(), -1);
}

// Plan: ask for 1 s; etcd grants ceil(1.5 x election timeout) = 2 s.
TEST_F(TransportUnary, ShowsTheLeaseTtlFloor) {
  const auto granted = Grant(*transport_, 7, 1);
  ASSERT_TRUE(granted.status.ok());
  EXPECT_EQ(granted.response.ttl(), 2);
}

// Plan: 6 MiB in one answer, above gRPC's default limit of 4 MiB.
TEST_F(TransportUnary, ReadsAnswersOfAnySize) {
  for (int i = 0; i < 6; ++i) {
    ASSERT_TRUE(Put(*transport_, "big" + std::to_string(i), std::string(1 << 20, 'x')).status.ok());
  }
  etcdserverpb::RangeRequest request;
  request.set_key("big");
  request.set_range_end("bih");
  const auto all = Await<etcdserverpb::RangeResponse>(
      [&](auto handler) { transport_->Range(request, kDeadline, std::move(handler)); });
  ASSERT_TRUE(all.status.ok()) << all.status.message;
  EXPECT_EQ(all.response.kvs_size(), 6);
}

// Plan: read a future revision; then the metrics hook gets every attempt with its method and code.
TEST_F(TransportUnary, TellsEveryAttemptToItsHook) {
  struct Call {
    std::string method;
    int code;
    bool operator==(const Call&) const = default;
  };
  Recorder<Call> calls;
  GrpcTransportOptions options = Patient(etcd_->endpoints());
  options.on_call = [&calls](std::string_view method, int code, std::chrono::nanoseconds took) {
    EXPECT_GT(took.count(), 0);
    calls.Add({std::string(method), code});
  };
  const auto transport = Connect(std::move(options));
  etcdserverpb::RangeRequest request;
  request.set_key("k");
  request.set_revision(1000000);
  const auto future = Await<etcdserverpb::RangeResponse>(
      [&](auto handler) { transport->Range(request, kDeadline, std::move(handler)); });
  EXPECT_EQ(future.status.outcome, Outcome::kRefused);
  EXPECT_TRUE(Grant(*transport, 5, 10).status.ok());
  const std::vector<Call> expected = {{"Range", 11}, {"LeaseGrant", 0}};
  EXPECT_EQ(calls.Values(), expected);
  EXPECT_STREQ(StatusCodeName(11), "OUT_OF_RANGE");
  EXPECT_STREQ(StatusCodeName(17), "OTHER");
}

// Plan: fill a store of 2 MiB. A put that NOSPACE refuses may have been applied: unknown. Requests
// that free or change nothing pass: deletes, revokes, keepalives, and the confirmation of a
// session.
TEST(TransportNoSpace, IsUnknownForPutsAndPassesTheRest) {
  const auto etcd = StartEtcd({.members = 1, .arguments = {"--quota-backend-bytes=2097152"}});
  ASSERT_NE(etcd, nullptr);
  const auto transport = Connect(Patient(etcd->endpoints()));
  ASSERT_TRUE(Grant(*transport, 7, 60).status.ok());
  ASSERT_TRUE(Grant(*transport, 8, 60).status.ok());
  CallStatus status{.outcome = Outcome::kDone, .message = ""};
  // etcd counts only what its store has written out, every 100 ms, so some more puts than fit
  // succeed.
  for (int i = 0; i < 1000 && status.ok(); ++i) {
    status = Put(*transport, "k" + std::to_string(i), std::string(100000, 'x')).status;
  }
  EXPECT_EQ(status.outcome, Outcome::kUnknown);
  EXPECT_NE(status.message.find("database space exceeded"), std::string::npos) << status.message;
  EXPECT_EQ(Grant(*transport, 9, 60).status.outcome, Outcome::kUnknown);

  etcdserverpb::TxnRequest confirmation;
  confirmation.add_success()->mutable_request_delete_range()->set_key("never");
  EXPECT_TRUE(Commit(*transport, confirmation).status.ok());
  EXPECT_TRUE(Revoke(*transport, 8).status.ok());
  KeepAliveLog log;
  const auto stream = transport->OpenKeepAlive(7, "", log.Handler());
  stream->Send();
  const auto answers = log.answers.WaitForCount(1);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].ttl(), 60);
}

// Plan: destroy the transport with 100 calls in flight to a frozen member: each is answered unknown
// before the destructor returns.
TEST_F(TransportUnary, AnswersAllCallsBeforeItIsGone) {
  etcd_->Pause(0);
  Recorder<CallStatus> answers;
  etcdserverpb::TxnRequest request;
  AddPut(request, "k", "v");
  for (int i = 0; i < 100; ++i) {
    transport_->Txn(
        std::make_shared<etcdserverpb::TxnRequest>(request), kDeadline,
        [&answers](Reply<etcdserverpb::TxnResponse> reply) { answers.Add(reply.status); });
  }
  transport_.reset();
  const auto got = answers.Values();
  ASSERT_EQ(got.size(), 100u);
  for (const CallStatus& status : got) EXPECT_EQ(status.outcome, Outcome::kUnknown);
}

TEST(TransportOptions, AreRefusedWithOneLine) {
  const auto message = [](GrpcTransportOptions options) {
    const auto created = GrpcTransport::Create(std::move(options));
    return created.ok() ? std::string("ok") : created.error().message;
  };
  EXPECT_EQ(
      message({.endpoints = {"nowhere"}}),
      "etcd endpoint \"nowhere\" is not an endpoint; write host:port, such as 10.0.0.7:2379 or "
      "[::1]:2379");
  EXPECT_EQ(message({.endpoints = {"a:1"}, .ca_pem = "/etc/ca.pem"}),
            "the CA certificate is not PEM text: it looks like a path; give the file's content");
  EXPECT_EQ(message({.endpoints = {"a:1"}, .cert_pem = "-----BEGIN CERTIFICATE-----"}),
            "a client certificate and its key go together: give both or none");
  EXPECT_EQ(message({.endpoints = {"a:1"}, .password = "x"}),
            "an etcd password needs a user: give the user too");
  EXPECT_EQ(message({.endpoints = {"a:1"}, .user = "x"}),
            "an etcd user needs a password: give the password too");
  EXPECT_EQ(message({.endpoints = {"a:1"}, .ping_interval = seconds(1)}),
            "etcd closes connections that are pinged more often than every 5 s");
}

}  // namespace
}  // namespace baton::etcd::test
