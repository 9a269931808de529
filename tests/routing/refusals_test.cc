// Refusals as clients get them: the code, the line, and details that Google's ErrorInfo can read.
#include "routing/refusals.h"

#include <gtest/gtest.h>

#include "baton/grpc.h"
#include "baton/owner_guard.h"
#include "baton/v1/errors.pb.h"

namespace baton {
namespace {

TEST(StaleTermStatus, SaysWhatIsOverAndWhatWasSeen) {
  FenceGuard guard(8);
  ASSERT_TRUE(guard.Check(ShardId{3}, Term{12}).ok());
  const grpc::Status status = StaleTermStatus(guard, ShardId{3}, Term{10});
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(status.error_message(),
            "shard 3: term 10 is over, term 12 was seen, so this leader no longer leads");
  v1::RpcStatus details;
  ASSERT_TRUE(details.ParseFromString(status.error_details()));
  EXPECT_EQ(details.code(), 10);
  EXPECT_EQ(details.message(), status.error_message());
  ASSERT_EQ(details.details_size(), 1);
  EXPECT_EQ(details.details(0).type_url(), "type.googleapis.com/google.rpc.ErrorInfo");
  v1::ErrorInfo info;
  ASSERT_TRUE(info.ParseFromString(details.details(0).value()));
  EXPECT_EQ(info.reason(), "STALE_TERM");
  EXPECT_EQ(info.domain(), "baton");
  EXPECT_EQ(info.metadata().at("shard"), "3");
  EXPECT_EQ(info.metadata().at("term"), "10");
  EXPECT_EQ(info.metadata().at("newestTerm"), "12");
}

// Plan: pauses that protobuf's duration can't hold, and ones below 0. Callers cut every pause to a
// day, so the refusal says no longer one.
// Plan: names that can be in a certificate, and one that can't.
TEST(CheckAdminOptions, RefusesANameThatNoCertificateHas) {
  using Names = std::vector<std::string>;
  EXPECT_TRUE(CheckAdminOptions({}));
  EXPECT_TRUE(CheckAdminOptions({.operators = Names{}}));
  EXPECT_TRUE(CheckAdminOptions(
      {.operators = Names{"spiffe://example.org/ops/*", "dns:a", "cn:bob", "*"}}));
  for (const char* name : {"bob", "", "cn:*b", "spiffe:/x"}) {
    const Status refused = CheckAdminOptions({.operators = Names{"cn:bob", name}});
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(refused.error().message,
              std::string("operators: \"") + name +
                  "\" can't name a certificate; give spiffe://DOMAIN/PATH, dns:NAME or cn:NAME, or "
                  "the beginning of one with a * at its end");
  }
}

TEST(NoLeaderStatus, TakesAnyPause) {
  using std::chrono::milliseconds;
  const std::pair<milliseconds, milliseconds> cases[] = {
      {milliseconds(25), milliseconds(25)},
      {milliseconds(0), milliseconds(0)},
      {milliseconds(-1), milliseconds(0)},
      {milliseconds::min(), milliseconds(0)},
      {milliseconds::max(), std::chrono::hours(24)}};
  for (const auto& [asked, said] : cases) {
    v1::RpcStatus details;
    ASSERT_TRUE(details.ParseFromString(
        NoLeaderStatus(ShardId{3}, "nobody leads it", asked).error_details()));
    ASSERT_EQ(details.details_size(), 2);
    v1::RetryInfo info;
    ASSERT_TRUE(info.ParseFromString(details.details(1).value()));
    EXPECT_EQ(info.retry_delay().seconds(), said.count() / 1000) << asked.count();
    EXPECT_EQ(info.retry_delay().nanos(), said.count() % 1000 * 1'000'000) << asked.count();
  }
}

// Plan: texts of a program that are far too long, or have line ends. gRPC's clients refuse metadata
// of more than some kB, so the refusal would reach no caller.
TEST(NoLeaderStatus, CutsALongReason) {
  const grpc::Status status = NoLeaderStatus(ShardId{3}, "a\n" + std::string(20'000, 'x'),
                                             std::chrono::seconds(1), std::string(20'000, 'g'));
  EXPECT_EQ(status.error_message(), "shard 3: a\\n" + std::string(997, 'x') + "...; try again");
  EXPECT_EQ(routing::DetailsOf(status).metadata.at("group"), std::string(128, 'g') + "...");
  EXPECT_LT(status.error_details().size(), 2'000u);
}

// Plan: the longest name and address that there can be stay as they are. A longer name is cut. A
// longer address counts as none, as it does for callers.
TEST(NotLeaderStatus, CutsLongNamesAndLeavesOutLongAddresses) {
  const std::string name(128, 'n');
  const std::string address(512, 'a');
  const auto longest = routing::HintOf(
      routing::DetailsOf(NotLeaderStatus({ShardId{3}, name, address, Term{7}, "orders"})));
  ASSERT_TRUE(longest.has_value());
  EXPECT_EQ(longest->leader, name);
  EXPECT_EQ(longest->address, address);
  const grpc::Status status = NotLeaderStatus(
      {ShardId{3}, std::string(20'000, 'n'), std::string(20'000, 'a'), Term{7}, "orders"});
  EXPECT_EQ(status.error_message(), "shard 3: led by " + name + "... in term 7, not by this node");
  const auto metadata = routing::DetailsOf(status).metadata;
  EXPECT_EQ(metadata.at("leaderNode"), name + "...");
  EXPECT_EQ(metadata.at("leaderAddress"), "");
}

}  // namespace
}  // namespace baton
