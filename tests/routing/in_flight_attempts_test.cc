// Attempts in flight: when each is cancelled, and that Close cancels all of them.
#include "routing/client/in_flight_attempts.h"

#include <gtest/gtest.h>

#include <map>

#include "routing/scripted_routes.h"

namespace baton::routing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const TimePoint kNow{seconds(1000)};

// Makes a call with the context to a port where nobody listens. Returns how it ended.
grpc::StatusCode CallBy(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + seconds(60));
  context.set_wait_for_ready(true);
  const auto channel = grpc::CreateChannel("127.0.0.1:1", grpc::InsecureChannelCredentials());
  v1::LookupResponse response;
  return v1::RoutingService::NewStub(channel)
      ->Lookup(&context, v1::LookupRequest(), &response)
      .error_code();
}

class InFlightAttemptsTest : public ::testing::Test {
 protected:
  void Hear(std::uint32_t shard, std::int64_t term) {
    terms_[shard] = term;
    attempts_.Compare([this](ShardId asked) { return Term{terms_[asked.value]}; }, kNow);
  }

  std::map<std::uint32_t, std::int64_t> terms_;
  InFlightAttempts attempts_;
  grpc::ClientContext context_;
};

TEST_F(InFlightAttemptsTest, OneWhoseLeaderWasReplacedHasAGraceAndThenEnds) {
  const InFlightAttempts::Attempt attempt(attempts_, ShardId{1}, Term{5}, true, context_);
  Hear(1, 5);
  EXPECT_EQ(attempts_.EndDue(kNow + seconds(10)), std::nullopt);
  Hear(1, 6);
  EXPECT_EQ(attempts_.EndDue(kNow + kGrace - milliseconds(1)), kNow + kGrace);
  EXPECT_FALSE(attempt.superseded());
  EXPECT_EQ(attempts_.EndDue(kNow + kGrace), std::nullopt);
  EXPECT_TRUE(attempt.superseded());
  EXPECT_EQ(CallBy(context_), grpc::StatusCode::CANCELLED);
}

TEST_F(InFlightAttemptsTest, AnotherShardsLeaderEndsNothing) {
  const InFlightAttempts::Attempt attempt(attempts_, ShardId{1}, Term{5}, true, context_);
  Hear(2, 9);
  EXPECT_EQ(attempts_.EndDue(kNow + seconds(10)), std::nullopt);
  EXPECT_FALSE(attempt.superseded());
}

TEST_F(InFlightAttemptsTest, WhatMayNotBeMadeTwiceGoesOn) {
  const InFlightAttempts::Attempt attempt(attempts_, ShardId{1}, Term{5}, false, context_);
  Hear(1, 6);
  EXPECT_EQ(attempts_.EndDue(kNow + seconds(10)), std::nullopt);
  EXPECT_FALSE(attempt.superseded());
}

TEST_F(InFlightAttemptsTest, OneThatSetsOutAfterTheEndIsCancelledAtOnce) {
  attempts_.Close();
  const InFlightAttempts::Attempt late(attempts_, ShardId{1}, Term{5}, true, context_);
  EXPECT_EQ(CallBy(context_), grpc::StatusCode::CANCELLED);
  EXPECT_FALSE(late.superseded());
}

}  // namespace
}  // namespace baton::routing
