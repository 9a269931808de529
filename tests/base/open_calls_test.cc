// How many calls one connection may have open (ReceiveBudget::Bounds::open_calls). The connections
// are real; the time is what a test says.
#include "base/receive_budget.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "base/tcp_pair.h"

namespace baton {
namespace {

class OpenCalls : public testing::Test {
 protected:
  void Weigh(int looks = 1) {
    for (int i = 0; i < looks; ++i) budget_.Weigh(now_ += std::chrono::milliseconds(100), {});
  }
  bool Barred(const std::string& caller) { return budget_.IsBarred(caller, now_); }
  std::optional<std::size_t> Begin(const TcpPair& pair, int calls = 1) {
    std::optional<std::size_t> last;
    const std::string peer = "ipv4:127.0.0.1:" + std::to_string(pair.ClientPort());
    for (int i = 0; i < calls; ++i) last = budget_.Served(peer);
    return last;
  }
  void End(std::optional<std::size_t> call, int calls = 1) {
    for (int i = 0; i < calls; ++i) budget_.Over(call);
  }

  TimePoint now_{std::chrono::hours(1)};
  ReceiveBudget budget_;
};

// Plan: a connection has 65 calls open, which is one too many, when Weigh looks. At the next look
// it has 64; then 65 at two looks. Another one has as many, and all of them end in between.
TEST_F(OpenCalls, AConnectionWithManyIsEnded) {
  const TcpPair pair, busy;
  ASSERT_TRUE(budget_.Add(pair.server, "pair"));
  ASSERT_TRUE(budget_.Add(busy.server, "busy"));
  Weigh();
  const auto one = Begin(pair, 65);
  Weigh();
  End(one);
  Weigh();
  EXPECT_FALSE(Barred("pair"));
  Begin(pair);
  End(Begin(busy, 65), 65);
  Weigh(2);
  EXPECT_TRUE(Barred("pair") && pair.Ended());
  EXPECT_FALSE(Barred("busy"));
}

// Plan: gRPC takes some seconds to end so many calls, and keeps the connection meanwhile. It is
// counted once, and its caller is barred once.
TEST_F(OpenCalls, AConnectionIsEndedForThemOnce) {
  const TcpPair pair;
  ASSERT_TRUE(budget_.Add(pair.server, "pair"));
  Begin(pair, 65);
  Weigh(50);
  EXPECT_EQ(budget_.ended().for_calls, 1u);
  Weigh(60);
  EXPECT_FALSE(Barred("pair"));
}

// Plan: a connection has the port of one whose calls are open still. These are not its own, but
// only for as long as it takes to end them: a caller can come back from its port again and again.
TEST_F(OpenCalls, ThoseOfAnEarlierConnectionDontCountForAWhile) {
  const TcpPair pair;
  const auto earlier = Begin(pair, 65);
  ASSERT_TRUE(budget_.Add(pair.server, "pair"));
  Weigh(10);
  EXPECT_FALSE(Barred("pair"));
  End(earlier, 65);
  Begin(pair, 65);
  Weigh(2);
  EXPECT_FALSE(Barred("pair"));
  Weigh(20);
  EXPECT_TRUE(Barred("pair"));
}

// Plan: two connections share a count, by chance in practice, and here because they are one. Each
// keeps to the bound, so nobody is ended.
TEST_F(OpenCalls, ConnectionsThatShareACountHaveTheBoundEach) {
  const TcpPair pair;
  const int again = dup(pair.server);
  ASSERT_TRUE(budget_.Add(pair.server, "pair"));
  ASSERT_TRUE(budget_.Add(again, "pair"));
  const auto one = Begin(pair, 128);
  Weigh(2);
  EXPECT_FALSE(Barred("pair"));
  close(again);
  Weigh(2);
  EXPECT_TRUE(Barred("pair")) << "only one is left";
  End(one, 128);
}

}  // namespace
}  // namespace baton
