// The simulator's machines and their connections to etcd: sleep, refused tokens, and nodes of a
// next version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "sim/next_version.h"
#include "sim/simulation.h"

namespace baton::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- sleep ----

class HostTest : public ::testing::Test {
 protected:
  void RunFor(Duration length) { world_.RunUntil(world_.now() + length); }
  Duration SinceStart() const { return clock_.Now() - started_; }

  World world_{1, false};
  HostClock clock_{world_, 0, seconds(5)};
  Host host_{world_, clock_, 0};
  const TimePoint started_ = clock_.Now();
  std::optional<Duration> fired_;
};

// Plan: a timer of 10 s; the machine sleeps from second 4 to 104.
TEST_F(HostTest, ATimersClockStandsStillWhileTheMachineSleeps) {
  host_.After(seconds(10), [this] { fired_ = SinceStart(); });
  RunFor(seconds(4));
  host_.Suspend();
  RunFor(seconds(100));
  host_.Resume();
  EXPECT_EQ(fired_, std::nullopt);
  RunFor(seconds(7));
  ASSERT_TRUE(fired_);
  EXPECT_EQ(*fired_ / milliseconds(1), 110'000);
}

TEST_F(HostTest, ATimerOfAPausedProcessIsDueWhenItGoesOn) {
  host_.After(seconds(10), [this] { fired_ = SinceStart(); });
  RunFor(seconds(4));
  host_.Pause();
  RunFor(seconds(100));
  host_.Resume();
  ASSERT_TRUE(fired_);
  EXPECT_EQ(*fired_ / milliseconds(1), 104'000);
}

// ---- tokens ----

class TokenTest : public HostTest {
 protected:
  void RefuseTokens(bool refuses) {
    for (int member = 0; member < EtcdModel::kMembers; ++member) {
      etcd_.SetRefusesTokens(member, refuses);
    }
  }
  void Put() {
    auto request = std::make_shared<pb::TxnRequest>();
    request->add_success()->mutable_request_put()->set_key("key");
    transport_.Txn(request, seconds(5), [this](const etcd::Reply<pb::TxnResponse>& reply) {
      outcome_ = reply.status.outcome;
      EXPECT_FALSE(reply.status.permanent);
    });
  }

  EtcdModel etcd_{world_, {}};
  NetworkFaults network_;
  Dice dice_{world_, 1, 1};
  SimTransport transport_{{.world = world_,
                           .etcd = etcd_,
                           .host = host_,
                           .faults = network_,
                           .dice = dice_,
                           .random = Random(1)}};
  std::optional<Outcome> outcome_;
};

TEST_F(TokenTest, AWriteRefusedForItsTokenIsUnknownAndWasNotApplied) {
  RefuseTokens(true);
  Put();
  RunFor(seconds(1));
  EXPECT_EQ(outcome_, Outcome::kUnknown);
  EXPECT_EQ(etcd_.store().Get("key"), nullptr);
  EXPECT_EQ(world_.faults()[static_cast<std::size_t>(Fault::kTokenRefused)], 3u);
}

TEST_F(TokenTest, AFreshTokenIsTriedAtOnce) {
  RefuseTokens(true);
  Put();
  RunFor(microseconds(800));
  RefuseTokens(false);
  RunFor(seconds(1));
  EXPECT_EQ(outcome_, Outcome::kDone);
}

TEST_F(TokenTest, ANewStreamIsRefusedAndAnOldOneGoesOn) {
  int answers = 0;
  int ended = 0;
  const etcd::KeepAliveHandler handler{
      .answered = [&](const pb::LeaseKeepAliveResponse&) { ++answers; },
      .ended = [&](const etcd::CallStatus&) { ++ended; }};
  const auto old = transport_.OpenKeepAlive(1, "", handler);
  old->Send();
  RunFor(seconds(1));
  RefuseTokens(true);
  old->Send();
  const auto fresh = transport_.OpenKeepAlive(1, "", handler);
  fresh->Send();
  RunFor(seconds(1));
  EXPECT_EQ(answers, 2);
  EXPECT_EQ(ended, 1);
}

// ---- the next version ----

void AddPut(pb::TxnRequest& request, const std::string& key, const std::string& value) {
  pb::PutRequest& put = *request.add_success()->mutable_request_put();
  put.set_key(key);
  put.set_value(value);
}

TEST(NextVersion, WritesItsFieldOnceIntoWhateverKeepsFields) {
  const etcd::Keyspace keys(etcd::kDefaultPrefix, kGroup);
  pb::TxnRequest request;
  AddPut(request, keys.PolicyKey({PolicyKind::kPause}), "pause");
  AddPut(request, keys.MoveKey(ShardId{1}), "has it" + NextVersionsField());
  AddPut(*request.add_success()->mutable_request_txn(), keys.ShardKey(ShardId{1}), "record");
  const auto changed = AsNextVersion(request);
  EXPECT_EQ(changed->success(0).request_put().value(), "pause");
  EXPECT_EQ(changed->success(1).request_put().value(), "has it" + NextVersionsField());
  EXPECT_EQ(changed->success(2).request_txn().success(0).request_put().value(),
            "record" + NextVersionsField());
}

class FieldsTest : public ::testing::Test {
 protected:
  FieldsTest() { etcd_.Observe(&fields_); }
  void Write(const std::string& value, int origin) {
    auto request = std::make_shared<pb::TxnRequest>();
    AddPut(*request, keys_.BalancerKey(), value);
    if (origin == kByOperator) {
      etcd_.OperatorTxn(*request);
    } else {
      etcd_.Txn(0, request, origin, [](const Failure&, const pb::TxnResponse&) {});
    }
    world_.RunUntil(world_.now() + milliseconds(50));
  }

  const etcd::Keyspace keys_{etcd::kDefaultPrefix, kGroup};
  World world_{1, false};
  EtcdModel etcd_{world_, {}};
  const Checkers::Processes nobody_;
  Checkers checkers_{world_, etcd_, nobody_, {.shards = 1, .ttl = {}, .failover_bound = {}}};
  FieldsKept fields_{etcd_, checkers_};
};

TEST_F(FieldsTest, WhoeverLosesALaterVersionsFieldIsFound) {
  Write("one" + NextVersionsField(), 1);
  Write("two" + NextVersionsField(), 2);
  EXPECT_THAT(checkers_.violations(), ElementsAre());
  Write("three", 2);
  EXPECT_THAT(checkers_.violations(), ElementsAre(HasSubstr("balancer lost the fields")));
  EXPECT_EQ(fields_.rewritten(), 2u);
}

TEST_F(FieldsTest, AnOperatorMayWriteAnything) {
  Write("one" + NextVersionsField(), 1);
  Write("garbage", kByOperator);
  Write("two", 1);
  EXPECT_THAT(checkers_.violations(), ElementsAre());
}

}  // namespace
}  // namespace baton::sim
