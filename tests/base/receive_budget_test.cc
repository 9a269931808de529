// How much callers may send, and how much memory that may cost. The connections are real; the time,
// and how much memory this process has, are what a test says.
#include "base/receive_budget.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/sent_lately.h"
#include "base/tcp_pair.h"

namespace baton {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// As gRPC names the client.
std::string PeerOf(const TcpPair& pair) {
  return "ipv4:127.0.0.1:" + std::to_string(pair.ClientPort());
}

class ReceiveBudgetTest : public testing::Test {
 protected:
  void Weigh(Duration waited = Duration(0)) {
    now_ += milliseconds(100);
    budget_.Weigh(now_, waited);
  }
  bool Barred(const std::string& caller) { return budget_.IsBarred(caller, now_); }
  /// A connection that is over before anybody looks.
  void SendBriefly(const std::string& caller, std::size_t bytes, std::int64_t most = 100'000) {
    TcpPair pair;
    ASSERT_TRUE(budget_.Add(pair.server, caller, LeastReserved(), {.most = most}));
    pair.Send(bytes);
    pair.Close();
  }

  std::int64_t resident_ = 1'000'000;
  TimePoint now_{};
  ReceiveBudget budget_{{.a_second = 10'000,
                         .at_once = 20'000,
                         .growth = 1'000'000,
                         .growth_in_10_s = 4'000'000,
                         .growth_in_100_s = 6'000'000,
                         .harmless_of_many = 500,
                         .harmless_together = 14'000,
                         .harmless = 1'000},
                        [this] { return resident_; }};
};

// Plan: two callers stay below the budget together; then one sends more. Its connections end, and
// it is barred for ten seconds. What was sent before does not count again.
TEST_F(ReceiveBudgetTest, ACallerThatSentMostAboveItLosesItsConnections) {
  const TcpPair modest, flood, another;
  ASSERT_TRUE(budget_.Add(modest.server, "modest"));
  ASSERT_TRUE(budget_.Add(flood.server, "flood"));
  ASSERT_TRUE(budget_.Add(another.server, "flood"));
  modest.Send(9'000);
  flood.Send(9'000);
  Weigh();
  Weigh();
  EXPECT_FALSE(Barred("flood"));
  modest.Send(1'000);
  flood.Send(15'000);
  Weigh();
  EXPECT_FALSE(modest.Ended());
  EXPECT_TRUE(flood.Ended());
  EXPECT_TRUE(another.Ended());
  EXPECT_EQ(budget_.ended().for_bytes, 1u);
  EXPECT_FALSE(Barred("modest"));
  EXPECT_TRUE(Barred("flood"));
  now_ += ReceiveBudget::kBarred;
  EXPECT_FALSE(Barred("flood"));
}

// Plan: a caller sends by many connections, each less than another caller's single one.
TEST_F(ReceiveBudgetTest, ManyConnectionsOfACallerCountTogether) {
  const TcpPair single;
  ASSERT_TRUE(budget_.Add(single.server, "single"));
  single.Send(5'000);
  const TcpPair many[10];
  for (const TcpPair& each : many) {
    ASSERT_TRUE(budget_.Add(each.server, "many"));
    each.Send(2'000);
  }
  Weigh();
  EXPECT_FALSE(single.Ended());
  for (const TcpPair& each : many) EXPECT_TRUE(each.Ended());
  EXPECT_TRUE(Barred("many"));
  EXPECT_FALSE(Barred("single"));
}

// Plan: some callers sent more together than they may. Those that sent most are ended, until the
// others are within the budget. Of callers that sent the same, those with the first names are.
TEST_F(ReceiveBudgetTest, EndsNoMoreCallersThanItMust) {
  for (const std::size_t bytes : {7'500, 9'000, 5'400, 8'000, 7'000}) {
    SendBriefly(std::to_string(bytes), bytes);
  }
  Weigh();
  EXPECT_TRUE(Barred("9000"));
  EXPECT_TRUE(Barred("8000"));
  EXPECT_EQ(budget_.ended().for_bytes, 2u) << "the others sent some 19,900";
  for (const char* caller : {"b", "a", "c"}) SendBriefly(caller, 900);
  Weigh();
  EXPECT_TRUE(Barred("a"));
  EXPECT_TRUE(Barred("b"));
  EXPECT_EQ(budget_.ended().for_bytes, 4u) << "c sent some 900 of 1,100";
}

// Plan: one connection has a bound of its own, which it reaches over time, far below the budget.
// Its caller loses the other connection too, and nobody else loses any. Nor does it help to end the
// connection before anybody looks.
TEST_F(ReceiveBudgetTest, AConnectionCanHaveABoundOfItsOwn) {
  const TcpPair bounded, another, other;
  ASSERT_TRUE(budget_.Add(bounded.server, "bounded", LeastReserved(), {.most = 900}));
  ASSERT_TRUE(budget_.Add(another.server, "bounded"));
  ASSERT_TRUE(budget_.Add(other.server, "other"));
  for (int i = 0; i < 3; ++i) {
    bounded.Send(300);
    another.Send(300);
    other.Send(400);
    Weigh();
    EXPECT_FALSE(bounded.Ended());
  }
  bounded.Send(50);  // more than a few tenths of a second account for
  Weigh();
  EXPECT_TRUE(bounded.Ended());
  EXPECT_TRUE(another.Ended());
  EXPECT_FALSE(other.Ended());
  EXPECT_TRUE(Barred("bounded"));
  Weigh();
  EXPECT_EQ(budget_.ended().for_bytes, 1u) << "once";
  SendBriefly("brief", 1'000, 900);
  SendBriefly("other", 800, 900);
  Weigh();
  EXPECT_TRUE(Barred("brief"));
  EXPECT_FALSE(Barred("other"));
}

// Plan: two connections receive far more than their bound. One has calls that are served, which
// account for what came; the other end of the second takes much from this process. Then there are
// no more calls, and nothing more is taken.
TEST_F(ReceiveBudgetTest, WhatWasServedIsNotAheadOfTheBound) {
  const TcpPair calls, reader;
  ASSERT_TRUE(budget_.Add(calls.server, "calls", LeastReserved(), {.most = 900}));
  ASSERT_TRUE(budget_.Add(reader.server, "reader", LeastReserved(), {.most = 900}));
  for (int i = 0; i < 5; ++i) {
    budget_.Over(budget_.Served(PeerOf(calls)));
    calls.Send(800);
    reader.Answer(ReceiveBudget::kOfSent * 800);
    reader.Send(800);
    Weigh();
    EXPECT_FALSE(calls.Ended());
  }
  EXPECT_FALSE(Barred("reader"));
  for (const TcpPair* each : {&calls, &reader}) each->Send(800);
  Weigh();
  EXPECT_FALSE(Barred("calls"));
  EXPECT_FALSE(Barred("reader"));
  for (const TcpPair* each : {&calls, &reader}) each->Send(800);
  Weigh();
  EXPECT_TRUE(Barred("calls"));
  EXPECT_TRUE(Barred("reader"));
}

// Plan: a hundred calls are served at once, and beside them comes a header of 400 KiB. Before, each
// call accounted for the longest request.
TEST(Unserved, ManyCallsAtOnceAccountForNoHugeHeader) {
  ReceiveBudget budget;
  const TcpPair calls;
  ASSERT_TRUE(budget.Add(calls.server, "calls"));
  for (int i = 0; i < 100; ++i) budget.Over(budget.Served(PeerOf(calls)));
  calls.SendAndRead(400 << 10);
  budget.Weigh(TimePoint{} + seconds(1), Duration(0));
  EXPECT_TRUE(calls.Ended());
}

// Plan: a client sends 1,000 lookups at once, twice as many a while later, for a second 100 in each
// tenth of it with a token of 1 KiB, and then 64 KiB of placement rules each second. All are
// served.
TEST(Unserved, WhatBusyClientsSendIsAccountedFor) {
  ReceiveBudget budget;
  const TcpPair calls;
  ASSERT_TRUE(budget.Add(calls.server, "calls"));
  TimePoint now = TimePoint{} + seconds(1);
  const auto serve = [&](int count, std::size_t bytes) {
    for (int i = 0; i < count; ++i) budget.Over(budget.Served(PeerOf(calls)));
    calls.SendAndRead(bytes);
    budget.Weigh(now += milliseconds(100), Duration(0));
    EXPECT_FALSE(calls.Ended()) << count;
  };
  serve(1'000, 130'000);
  serve(0, 0);
  serve(2'000, 260'000);
  for (int i = 0; i < 10; ++i) serve(0, 0);
  for (int i = 0; i < 10; ++i) serve(100, 115'000);
  for (int i = 0; i < 20; ++i) {
    serve(1, 66 << 10);
    now += milliseconds(900);
  }
}

// Plan: a client takes a thousand pieces in a tenth of a second, of a byte each, and sends 40 KiB
// meanwhile. Another one takes 200 updates a second, and answers each of them with 52 bytes.
TEST(Unserved, SmallPiecesAccountForWhatClientsAnswer) {
  ReceiveBudget budget;
  const TcpPair pieces, updates;
  ASSERT_TRUE(budget.Add(pieces.server, "pieces"));
  ASSERT_TRUE(budget.Add(updates.server, "updates"));
  TimePoint now = TimePoint{} + seconds(1);
  const auto pass = [&] { budget.Weigh(now += milliseconds(100), Duration(0)); };
  for (int i = 0; i < 8 && !pieces.Ended(); ++i) {
    for (int piece = 0; piece < 1'000; ++piece) pieces.Answer(1);
    pieces.SendAndRead(40 << 10);
    pass();
  }
  EXPECT_TRUE(pieces.Ended());
  for (int i = 0; i < 300; ++i) {
    for (int update = 0; update < 20; ++update) updates.Answer(80);
    updates.SendAndRead(20 * 52);
    pass();
  }
  EXPECT_FALSE(updates.Ended());
}

// Plan: calls come from the port of a connection, but from another address; and from a connection
// whose calls don't count. A third connection has no bound, and much accounts for what it sends.
TEST_F(ReceiveBudgetTest, CallsCountForTheirOwnConnectionAlone) {
  const TcpPair other, uncounted, free;
  ASSERT_TRUE(budget_.Add(other.server, "other", LeastReserved(), {.most = 900}));
  ASSERT_TRUE(budget_.Add(uncounted.server, "uncounted", LeastReserved(),
                          {.most = 900, .calls_count = false}));
  ASSERT_TRUE(budget_.Add(free.server, "free", LeastReserved(), {.most = std::int64_t{1} << 62}));
  for (int i = 0; i < 2; ++i) {
    budget_.Over(budget_.Served("ipv4:127.0.0.2:" + std::to_string(other.ClientPort())));
    budget_.Over(budget_.Served("ipv4:127.0.0.1:" + std::to_string(uncounted.ClientPort())));
    for (const TcpPair* each : {&other, &uncounted, &free}) each->Send(800);
    free.Answer(60'000);
    Weigh();
  }
  EXPECT_TRUE(Barred("other"));
  EXPECT_TRUE(Barred("uncounted"));
  now_ += std::chrono::hours(1);
  Weigh();
  EXPECT_FALSE(Barred("free"));
}

// Plan: a connection over IPv6 counts its calls, too, however gRPC writes its peer.
TEST_F(ReceiveBudgetTest, KnowsPeersByIpv6) {
  const TcpPair pair(AF_INET6);
  ASSERT_TRUE(budget_.Add(pair.server, "six", LeastReserved(), {.most = 900}));
  for (int i = 0; i < 4; ++i) {
    const std::string port = std::to_string(pair.ClientPort());
    budget_.Over(budget_.Served((i % 2 == 0 ? "ipv6:[::1]:" : "ipv6:%5B::1%5D:") + port));
    pair.Send(800);
    Weigh();
    EXPECT_FALSE(Barred("six"));
  }
}

// Plan: gRPC names the zone of a link-local address, encoded or not. The calls count all the same.
TEST_F(ReceiveBudgetTest, APeersZoneDoesNotMatter) {
  const TcpPair pair(AF_INET6);
  ASSERT_TRUE(budget_.Add(pair.server, "six", LeastReserved(), {.most = 900}));
  for (const char* peer : {"ipv6:%5B::1%251%5D:", "ipv6:[::1%251]:", "ipv6:[::1%lo]:"}) {
    budget_.Over(budget_.Served(peer + std::to_string(pair.ClientPort())));
    pair.Send(800);
    Weigh();
    EXPECT_FALSE(Barred("six")) << peer;
  }
}

// Plan: peers without an end, and with brackets that don't belong together. Nothing happens.
TEST_F(ReceiveBudgetTest, StrangePeersAreNobody) {
  for (const char* peer : {"ipv6:", "ipv6:[::1%", "ipv6:%", "ipv6:]%5B:1", "ipv4:%25", "unix:%"}) {
    budget_.Over(budget_.Served(peer));
  }
}

// Plan: a connection is ended that has received what nobody has read yet. Nothing is left to read.
TEST_F(ReceiveBudgetTest, WhatAnEndedConnectionReceivedIsDropped) {
  const TcpPair pair;
  ASSERT_TRUE(budget_.Add(pair.server, "caller"));
  pair.Send(30'000);
  Weigh();
  ASSERT_TRUE(pair.Ended());
  std::array<char, 100> bytes{};
  EXPECT_EQ(recv(pair.server, bytes.data(), bytes.size(), MSG_DONTWAIT), 0);
}

// Plan: more callers are barred than are remembered, one of them a moment before the others. It is
// the one that is forgotten.
TEST_F(ReceiveBudgetTest, RemembersABoundedNumberOfBarredCallers) {
  SendBriefly("first", 20, 1);
  Weigh();
  EXPECT_TRUE(Barred("first"));
  for (std::size_t i = 0; i < ReceiveBudget::kMaxBarred; ++i) {
    SendBriefly(std::to_string(i), 10, 1);
  }
  Weigh();
  EXPECT_FALSE(Barred("first"));
  for (std::size_t i = 0; i < ReceiveBudget::kMaxBarred; ++i) {
    EXPECT_TRUE(Barred(std::to_string(i))) << i;
  }
}

// Plan: two callers are barred one after another, and then the first one again. If there are too
// many, the second one is forgotten first. The first one is still barred when its first time is
// over.
TEST_F(ReceiveBudgetTest, ACallerThatIsBarredAgainIsRememberedForLonger) {
  for (const char* caller : {"again", "once", "again"}) {
    SendBriefly(caller, 20, 1);
    Weigh();
  }
  for (std::size_t i = 0; i + 1 < ReceiveBudget::kMaxBarred; ++i) {
    SendBriefly(std::to_string(i), 10, 1);
  }
  Weigh();
  EXPECT_TRUE(Barred("again"));
  EXPECT_FALSE(Barred("once"));
  now_ += ReceiveBudget::kBarred - milliseconds(250);
  EXPECT_TRUE(Barred("again"));
  now_ += milliseconds(200);
  EXPECT_FALSE(Barred("again"));
}

// Plan: a caller sends too much by connections that are over before anybody looks, by four
// together.
TEST_F(ReceiveBudgetTest, ConnectionsThatAreOverCountToo) {
  SendBriefly("modest", 5'000);
  for (int i = 0; i < 4; ++i) SendBriefly("flood", 6'000);
  Weigh();
  EXPECT_TRUE(Barred("flood"));
  EXPECT_FALSE(Barred("modest"));
  Weigh();
  EXPECT_EQ(budget_.ended().for_bytes, 1u);
}

// Plan: of a connection that is over, no descriptor stays open.
TEST_F(ReceiveBudgetTest, KeepsNoDescriptorOfAConnectionThatIsOver) {
  int client = -1;
  for (const char* caller : {"one", ""}) {
    TcpPair pair;
    if (client >= 0) {
      EXPECT_EQ(pair.client, client) << "the lowest free numbers are the same";
    }
    client = pair.client;
    ASSERT_TRUE(budget_.Add(pair.server, caller));
    pair.Close();
    Weigh();
  }
}

// Plan: a connection and a brief one of the same caller are trusted only after they have sent more
// than their bound. Nobody looked before. A third one is not trusted, and ends alone.
TEST_F(ReceiveBudgetTest, ATrustedConnectionIsNeverEnded) {
  const auto trust = std::make_shared<std::atomic<bool>>(false);
  const TcpPair trusted, other;
  ASSERT_TRUE(
      budget_.Add(trusted.server, "caller", LeastReserved(), {.most = 900, .trusted = trust}));
  ASSERT_TRUE(budget_.Add(other.server, "caller", LeastReserved(), {.most = 900}));
  {
    const TcpPair brief;
    ASSERT_TRUE(
        budget_.Add(brief.server, "caller", LeastReserved(), {.most = 900, .trusted = trust}));
    brief.Send(30'000);
  }
  trusted.Send(30'000);
  trust->store(true);
  Weigh();
  EXPECT_FALSE(Barred("caller"));
  other.Send(1'000);
  Weigh();
  EXPECT_TRUE(Barred("caller"));
  EXPECT_TRUE(other.Ended());
  EXPECT_FALSE(trusted.Ended());
}

// Plan: two connections without a caller may stay for a while. One of them ends, with what it sent.
TEST_F(ReceiveBudgetTest, AConnectionThatMayNotStayEnds) {
  bool may_stay = true;
  const TcpPair privileged, other;
  ASSERT_TRUE(budget_.Add(privileged.server, "", LeastReserved(),
                          {.may_stay = [&may_stay] { return may_stay; }}));
  ASSERT_TRUE(budget_.Add(other.server, "", LeastReserved(), {.may_stay = [] { return true; }}));
  Weigh();
  EXPECT_FALSE(privileged.Ended());
  privileged.Send(1'000);
  may_stay = false;
  Weigh();
  EXPECT_TRUE(privileged.Ended());
  EXPECT_FALSE(other.Ended());
  EXPECT_FALSE(Barred(""));
}

TEST_F(ReceiveBudgetTest, CallersWithoutANameSendWhatTheyLike) {
  const TcpPair pair;
  ASSERT_TRUE(budget_.Add(pair.server, ""));
  pair.Send(50'000);
  Weigh();
  EXPECT_FALSE(pair.Ended());
  EXPECT_FALSE(Barred(""));
}

// Plan: the process grows within a second, in which three callers sent something. Two lose their
// connections, however much more one of them sent. Nobody does if it grows as much in a longer
// time.
TEST_F(ReceiveBudgetTest, CallersWhoMakeTheProcessGrowLoseTheirConnections) {
  const TcpPair slow, most, more;
  ASSERT_TRUE(budget_.Add(slow.server, "slow"));
  ASSERT_TRUE(budget_.Add(most.server, "most"));
  ASSERT_TRUE(budget_.Add(more.server, "more"));
  for (int i = 0; i < 40; ++i) {
    resident_ += 80'000;
    slow.Send(i < 30 ? 200 : 50);
    Weigh();
  }
  EXPECT_FALSE(slow.Ended());
  most.Send(10'000);
  more.Send(1'100);
  Weigh();
  resident_ += 1'100'000;
  Weigh();
  EXPECT_TRUE(most.Ended());
  EXPECT_TRUE(more.Ended());
  EXPECT_FALSE(slow.Ended());
  EXPECT_EQ(budget_.ended().for_memory, 2u);
  EXPECT_EQ(budget_.ended().for_bytes, 0u);
}

// Plan: the process grows slowly, by less than may come within a second, beside a caller that sends
// little in each second and one that sends next to nothing. The first loses its connections after
// some time, once for growth within ten seconds and once within a hundred.
TEST_F(ReceiveBudgetTest, SlowGrowthIsBoundedToo) {
  for (const auto& [growth, at_least, at_most] :
       {std::array{50'000, 50, 100}, std::array{25'000, 101, 290}}) {
    const std::string caller = std::to_string(growth);
    const TcpPair slow, idle;
    ASSERT_TRUE(budget_.Add(slow.server, caller));
    ASSERT_TRUE(budget_.Add(idle.server, "idle"));
    idle.Send(10);
    int turns = 0;
    for (; turns < 300 && !Barred(caller); ++turns) {
      resident_ += growth;
      slow.Send(60);
      Weigh();
    }
    EXPECT_GE(turns, at_least);
    EXPECT_LE(turns, at_most);
    EXPECT_TRUE(slow.Ended());
    EXPECT_FALSE(idle.Ended());
  }
  EXPECT_EQ(budget_.ended().for_memory, 2u);
}

// Plan: callbacks wait for longer and longer, while one caller sends much and another little. Then
// nobody sends much.
TEST_F(ReceiveBudgetTest, CallersForWhomOthersWaitLoseTheirConnections) {
  const TcpPair much, little;
  ASSERT_TRUE(budget_.Add(much.server, "much"));
  ASSERT_TRUE(budget_.Add(little.server, "little"));
  much.Send(2'000);
  little.Send(500);
  Weigh(milliseconds(999));
  EXPECT_FALSE(much.Ended());
  Weigh(milliseconds(1'001));
  EXPECT_TRUE(much.Ended());
  Weigh(milliseconds(1'101));
  EXPECT_FALSE(little.Ended());
  EXPECT_EQ(budget_.ended().for_time, 1u);
}

// Plan: a caller sends so little in each second that it is no suspect after a short wait. It is one
// once a callback waits for three seconds.
TEST_F(ReceiveBudgetTest, WhoSendsLittleForLongIsASuspectAfterALongWait) {
  const TcpPair slow;
  ASSERT_TRUE(budget_.Add(slow.server, "slow"));
  for (int i = 0; i < 80; ++i) {
    if (i % 10 == 0) slow.Send(180);
    Weigh();
  }
  Weigh(milliseconds(2'900));
  EXPECT_FALSE(slow.Ended());
  Weigh(milliseconds(3'100));
  EXPECT_TRUE(slow.Ended());
}

// Plan: a caller sends much at once, and nothing while a callback waits behind it.
TEST_F(ReceiveBudgetTest, WhatCameBeforeAWaitCountsToo) {
  const TcpPair before;
  ASSERT_TRUE(budget_.Add(before.server, "before"));
  before.Send(2'000);
  Weigh();
  for (int i = 1; i < 11; ++i) Weigh(i * milliseconds(100));
  EXPECT_FALSE(before.Ended());
  Weigh(milliseconds(1'100));
  EXPECT_TRUE(before.Ended());
}

// Plan: a second descriptor would have a number that is kept for others. Once a connection is over,
// the next one with its number gets its second descriptor, too.
TEST_F(ReceiveBudgetTest, ASecondDescriptorHasABound) {
  TcpPair first;
  const int lowest = dup(first.server);
  close(lowest);
  EXPECT_FALSE(budget_.Add(first.server, "one", lowest));
  EXPECT_TRUE(budget_.Add(first.server, "one", lowest + 1));
  TcpPair next;
  const int number = first.server;
  close(number);
  ASSERT_EQ(dup2(next.server, number), number);
  close(std::exchange(next.server, -1));
  EXPECT_TRUE(budget_.Add(number, "two", lowest + 1));
}

// Plan: sixteen callers send little each while the process grows, but much together. One sends very
// little.
TEST_F(ReceiveBudgetTest, ManyWhoSendLittleCanBeTheReasonTogether) {
  const TcpPair many[16];
  const TcpPair honest;
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(budget_.Add(many[i].server, std::to_string(i)));
    many[i].Send(900);
  }
  ASSERT_TRUE(budget_.Add(honest.server, "honest"));
  honest.Send(400);
  Weigh();
  resident_ += 1'100'000;
  Weigh();
  EXPECT_EQ(budget_.ended().for_memory, 16u);
  EXPECT_FALSE(honest.Ended());
}

// Plan: the process grows for a reason of its own, while callers send little.
TEST_F(ReceiveBudgetTest, WhoSendsLittleIsNoReasonForGrowth) {
  const TcpPair pair;
  ASSERT_TRUE(budget_.Add(pair.server, "caller"));
  pair.Send(900);
  Weigh();
  resident_ += 5'000'000;
  Weigh();
  EXPECT_FALSE(pair.Ended());
}

// Plan: each moment new callers send a little, as from many addresses; one sends more, in the
// middle. A long step forgets others, and never that one.
TEST(SentLately, RemembersThoseWhoSentMost) {
  SentLately lately(seconds(100), seconds(10));
  TimePoint now{};
  int next = 0;
  for (int i = 0; i < 90; ++i, now += milliseconds(100)) {
    SentLately::SentByCaller sent;
    for (int n = 0; n < 500; ++n) sent[std::to_string(next++)] = 100;
    if (i == 40) sent["most"] = 101;
    lately.Add(now, 0, sent);
  }
  const auto sent = lately.SentSince(TimePoint{});
  EXPECT_LE(sent.size(), 2 * SentLately::kMaxCallers);
  EXPECT_GE(sent.size(), SentLately::kMaxCallers);
  EXPECT_TRUE(sent.contains("most"));
}

TEST(ReceiveBudget, KnowsThisProcessesMemory) {
  EXPECT_GT(ReceiveBudget::ResidentBytes(), 1 << 20);
}

}  // namespace
}  // namespace baton
