// A guard gets answers of etcd that a real etcd does not give on demand.
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "etcd/fake_transport.h"
#include "etcd/records.h"
#include "runtime/guard/end_session.h"
#include "runtime/manual_time.h"

namespace baton::runtime {
namespace {

using etcd::testing::FakeTransport;

etcd::CallStatus Denied() {
  return {.outcome = Outcome::kRefused, .code = 7, .message = "denied", .permanent = true};
}
etcd::CallStatus NoSuchLease() {
  return {.outcome = Outcome::kRefused, .code = 5, .message = "lease not found"};
}

struct EndSessionAnswers : public testing::Test {
  void End(std::function<Duration(Duration)> jitter = {},
           std::optional<TimePoint> known_since = std::nullopt) {
    EndSession({transport, time, time, std::move(jitter)}, etcd::Keyspace("/baton/v1", "g"),
               {.session = {"n1", SessionId{7}}, .known_since = known_since},
               [this](const auto& ended) { result = ended; });
    Settle();
  }
  // The death that the oldest transaction puts into `died`.
  DeathFact Named() {
    for (const auto& operation : transport.txns.front().request.success()) {
      if (operation.has_request_put()) return etcd::DecodeDeath(operation.request_put().value());
    }
    return {};
  }
  void Settle() { time.Elapse(Duration{0}); }
  // The lease holds these keys.
  void Show(const std::vector<std::string>& keys) {
    ASSERT_EQ(transport.examinations.size(), 1u);
    EXPECT_EQ(transport.examinations.front().request.id(), 7);
    EXPECT_TRUE(transport.examinations.front().request.keys());
    EXPECT_TRUE(transport.revocations.empty()) << "not before it is known whose lease it is";
    etcdserverpb::LeaseTimeToLiveResponse answer;
    for (const std::string& key : keys) answer.add_keys(key);
    transport.TakeTimeToLive().Answer(answer);
    Settle();
  }
  FakeTransport transport;
  ManualTime time;
  std::optional<Result<SessionFound>> result;
};

// Plan: the role may not write the keys. The lease, which holds this node's member key alone, is
// revoked all the same.
TEST_F(EndSessionAnswers, ADeniedTransactionIsFollowedByTheRevocation) {
  End();
  transport.TakeTxn().Fail(Denied());
  Settle();
  Show({etcd::Keyspace("/baton/v1", "g").MemberKey("n1")});
  ASSERT_EQ(transport.revocations.size(), 1u);
  EXPECT_EQ(transport.revocations.front().request.id(), 7);
  transport.TakeRevoke().Answer({});
  Settle();
  ASSERT_TRUE(result && result->ok());
  EXPECT_EQ(result->value(), SessionFound::kRevoked);
}

// Plan: both are denied. That is an error, which says what the first one was denied for.
TEST_F(EndSessionAnswers, BothDeniedIsAnError) {
  End();
  transport.TakeTxn().Fail(Denied());
  Settle();
  Show({});
  transport.TakeRevoke().Fail(Denied());
  Settle();
  ASSERT_TRUE(result && !result->ok());
  EXPECT_NE(result->error().message.find("denied"), std::string::npos);
}

// Plan: the transaction is denied, and there is no such lease any more.
TEST_F(EndSessionAnswers, ADeniedTransactionOfALeaseThatIsGone) {
  End();
  transport.TakeTxn().Fail(Denied());
  Settle();
  Show({});
  transport.TakeRevoke().Fail(NoSuchLease());
  Settle();
  ASSERT_TRUE(result && result->ok());
  EXPECT_EQ(result->value(), SessionFound::kGone);
}

// Plan: the transaction never has a definite outcome, and the lease holds the key of another node.
// It is not revoked.
TEST_F(EndSessionAnswers, AnotherNodesLeaseIsNotRevoked) {
  End();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(transport.txns.size(), 1u);
    transport.TakeTxn().Fail(etcd::testing::Unknown());
    time.Elapse(std::chrono::seconds(1));
  }
  Show({etcd::Keyspace("/baton/v1", "g").MemberKey("n2")});
  EXPECT_TRUE(transport.revocations.empty());
  ASSERT_TRUE(result && result->ok());
  EXPECT_EQ(result->value(), SessionFound::kGone);
}

// Plan: etcd is away for three transactions, and answers again. The transaction is sent once more:
// it also says of what the session ended. Its outcome is known, or unknown again, as in a full
// database.
TEST_F(EndSessionAnswers, ATransactionIsTriedOnceMoreWhenEtcdAnswersAgain) {
  for (const bool known : {true, false}) {
    result.reset();
    End();
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(transport.txns.size(), 1u);
      transport.TakeTxn().Fail(etcd::testing::Unknown());
      time.Elapse(std::chrono::seconds(1));
    }
    Show({etcd::Keyspace("/baton/v1", "g").MemberKey("n1")});
    ASSERT_EQ(transport.txns.size(), 1u);
    EXPECT_EQ(Named().session, SessionId{7});
    EXPECT_TRUE(transport.revocations.empty());
    if (known) {
      etcdserverpb::TxnResponse done;
      done.set_succeeded(true);
      transport.TakeTxn().Answer(done);
    } else {
      transport.TakeTxn().Fail(etcd::testing::Unknown());
    }
    Settle();
    ASSERT_EQ(transport.revocations.size(), 1u);
    transport.TakeRevoke().Answer({});
    Settle();
    ASSERT_TRUE(result && result->ok());
    EXPECT_EQ(result->value(), known ? SessionFound::kHeld : SessionFound::kRevoked);
  }
}

// Plan: the session has lost its key already. The transaction is refused, and not sent again.
TEST_F(EndSessionAnswers, ARefusedTransactionIsNotTriedAgain) {
  End();
  transport.TakeTxn().Answer({});
  Settle();
  Show({});
  EXPECT_TRUE(transport.txns.empty());
  ASSERT_EQ(transport.revocations.size(), 1u);
  transport.TakeRevoke().Answer({});
  Settle();
  ASSERT_TRUE(result && result->ok());
  EXPECT_EQ(result->value(), SessionFound::kGone);
}

// Plan: etcd does not say what the lease holds, because the role may not read it. The lease is not
// revoked.
TEST_F(EndSessionAnswers, ALeaseThatMayNotBeLookedAtIsNotRevoked) {
  End();
  transport.TakeTxn().Fail(Denied());
  Settle();
  transport.TakeTimeToLive().Fail(Denied());
  Settle();
  EXPECT_TRUE(transport.revocations.empty());
  ASSERT_TRUE(result && !result->ok());
}

// Plan: no transaction has a definite outcome, and the role may not read what the lease holds. So
// nothing says that the session has ended.
TEST_F(EndSessionAnswers, ALeaseThatMayNotBeLookedAtAfterUnknownOutcomesIsAnError) {
  End();
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(transport.txns.size(), 1u);
    transport.TakeTxn().Fail(etcd::testing::Unknown());
    time.Elapse(std::chrono::seconds(1));
  }
  transport.TakeTimeToLive().Fail(Denied());
  Settle();
  EXPECT_TRUE(transport.revocations.empty());
  ASSERT_TRUE(result && !result->ok());
}

// Plan: the guard has known of the death for 30 ms, and etcd does not answer the first transaction.
// Each one says how long it was known when that one was sent, as any of them may be carried out.
TEST_F(EndSessionAnswers, EachTransactionSaysHowLongTheDeathWasKnown) {
  const TimePoint known_since = time.Now();
  time.Elapse(std::chrono::milliseconds(30));
  End({}, known_since);
  EXPECT_EQ(Named().session, SessionId{7});
  EXPECT_EQ(Named().detect, std::chrono::milliseconds(30));
  time.Elapse(std::chrono::seconds(1));
  transport.TakeTxn().Fail(etcd::testing::Unknown());
  Settle();
  time.Elapse(std::chrono::seconds(1));
  ASSERT_EQ(transport.txns.size(), 1u);
  ASSERT_TRUE(Named().detect);
  EXPECT_GT(*Named().detect, std::chrono::milliseconds(1030));
  EXPECT_LE(*Named().detect, time.Now() - known_since);
}

// Plan: nobody knows since when the process has been dead. The record claims nothing.
TEST_F(EndSessionAnswers, ADeathThatNobodyWaitedForHasNoTime) {
  End();
  EXPECT_EQ(Named().session, SessionId{7});
  EXPECT_FALSE(Named().detect);
}

// Plan: etcd does not answer. Each pause goes through the jitter.
TEST_F(EndSessionAnswers, PausesHaveJitter) {
  std::vector<Duration> pauses;
  End([&pauses](Duration pause) {
    pauses.push_back(pause);
    return 3 * pause;
  });
  transport.TakeTxn().Fail(etcd::testing::Unknown());
  Settle();
  ASSERT_EQ(pauses.size(), 1u);
  time.Elapse(2 * pauses.front());
  EXPECT_TRUE(transport.txns.empty());
  time.Elapse(pauses.front());
  EXPECT_EQ(transport.txns.size(), 1u);
}

}  // namespace
}  // namespace baton::runtime
