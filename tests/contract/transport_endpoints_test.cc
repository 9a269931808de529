// Endpoint lists and EndpointBook: pure, without etcd.
#include "etcd/grpc/endpoints.h"
#include "gtest/gtest.h"

namespace baton::etcd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TimePoint At(Duration since) { return TimePoint(seconds(1000)) + since; }

std::string MessageOf(const std::vector<std::string>& entries, Security security) {
  const auto parsed = ParseEndpoints(entries, security);
  return parsed.ok() ? "ok" : parsed.error().message;
}

TEST(Endpoints, AllGetOneSecurity) {
  const auto parsed =
      ParseEndpoints({"127.0.0.1:2379", "etcd-1.local:23790", "[::1]:1"}, Security::kTls);
  ASSERT_TRUE(parsed.ok());
  const std::vector<Endpoint> expected = {{"127.0.0.1:2379", Security::kTls},
                                          {"etcd-1.local:23790", Security::kTls},
                                          {"[::1]:1", Security::kTls}};
  EXPECT_EQ(parsed.value(), expected);
}

TEST(Endpoints, AreRefusedWithOneLineThatNamesTheEntry) {
  EXPECT_EQ(MessageOf({}, Security::kPlain), "no etcd endpoint: give at least one host:port");
  EXPECT_EQ(MessageOf({"a:1", "http://a:1"}, Security::kPlain),
            "etcd endpoint \"http://a:1\" is not an endpoint; write host:port, without http://");
  EXPECT_EQ(MessageOf({"https://a:1"}, Security::kPlain),
            "etcd endpoint \"https://a:1\" is not an endpoint; write host:port, without https:// "
            "(TLS: set ca_pem or a certificate)");
  EXPECT_EQ(MessageOf({"a:1", "a:1"}, Security::kPlain), "etcd endpoint \"a:1\" is listed twice");
  EXPECT_EQ(MessageOf(std::vector<std::string>(65, "a:1"), Security::kPlain),
            "65 etcd endpoints: at most 64 are supported");
}

// Plan: the current endpoint stays until it is unavailable. Then the next is current at once and
// stays, even when the first is well again.
TEST(EndpointBook, MovesOnFromAnUnavailableEndpointAndStays) {
  EndpointBook book(3, 1);
  EXPECT_EQ(book.Current(At(seconds(0))), 1u);
  book.Unavailable(1, At(seconds(0)));
  EXPECT_EQ(book.Current(At(seconds(0))), 2u);
  book.Unavailable(1, At(seconds(0)));
  EXPECT_EQ(book.Current(At(seconds(0))), 2u)
      << "a late report about an old endpoint changes nothing";
  EXPECT_EQ(book.Current(At(seconds(5))), 2u);
}

// Plan: all are unavailable; each failure goes on to the next, in a circle.
TEST(EndpointBook, GoesRoundWhereAllAreUnavailable) {
  EndpointBook book(3, 0);
  std::vector<std::size_t> order;
  for (int i = 0; i < 6; ++i) {
    order.push_back(book.Current(At(seconds(0))));
    book.Unavailable(order.back(), At(seconds(0)));
  }
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 0, 1, 2}));
}

// Plan: one miss leaves the endpoint current, and an answer clears it; two in a row quarantine it.
TEST(EndpointBook, QuarantinesAfterTwoMissesInARow) {
  EndpointBook book(2, 0);
  book.Missed(0, At(seconds(0)), At(seconds(1)));
  EXPECT_EQ(book.Current(At(seconds(1))), 0u);
  book.Answered(0, At(seconds(2)));
  book.Missed(0, At(seconds(1)), At(seconds(3)));
  EXPECT_FALSE(book.Quarantined(0)) << "it answered another call since this one was sent";
  book.Missed(0, At(seconds(3)), At(seconds(4)));
  EXPECT_FALSE(book.Quarantined(0));
  book.Missed(0, At(seconds(3)), At(seconds(4)));
  EXPECT_TRUE(book.Quarantined(0));
  EXPECT_EQ(book.Current(At(seconds(4))), 1u);
}

// Plan: a quarantined endpoint comes after an unavailable one. One probe runs at a time, a failed
// one is repeated after the interval, and an answer ends the quarantine.
TEST(EndpointBook, KeepsTheQuarantineUntilAProbeIsAnswered) {
  EndpointBook book(2, 0);
  book.Missed(0, At(seconds(0)), At(seconds(1)));
  book.Missed(0, At(seconds(0)), At(seconds(1)));
  book.Unavailable(1, At(seconds(1)));
  EXPECT_EQ(book.Current(At(seconds(1))), 1u);
  EXPECT_EQ(book.NextAfter({false, true}, At(seconds(1))), 0u);
  EXPECT_EQ(book.NextAfter({true, true}, At(seconds(1))), std::nullopt);

  EXPECT_EQ(book.TakeProbe(At(seconds(1))), 0u);
  EXPECT_EQ(book.TakeProbe(At(seconds(9))), std::nullopt);
  book.ProbeFailed(0, At(seconds(9)));
  EXPECT_EQ(book.TakeProbe(At(seconds(9))), std::nullopt);
  EXPECT_EQ(book.TakeProbe(At(seconds(9)) + kProbeInterval), 0u);
  book.Answered(0, At(seconds(10)));
  EXPECT_FALSE(book.Quarantined(0));
  EXPECT_EQ(book.TakeProbe(At(seconds(99))), std::nullopt);
}

}  // namespace
}  // namespace baton::etcd
