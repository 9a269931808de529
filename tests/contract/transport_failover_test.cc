// GrpcTransport with three members, one of which fails: frozen, killed, back again.
#include <algorithm>

#include "base/clock.h"
#include "contract/transport_support.h"

namespace baton::etcd::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Attempt {
  std::string method;
  std::string code;
  bool operator==(const Attempt&) const = default;
};

class TransportFailover : public testing::Test {
 protected:
  // The first endpoint is a follower's, so that its failure starts no election.
  void SetUp() override {
    etcd_ = StartEtcd({.members = 3});
    ASSERT_NE(etcd_, nullptr);
    const auto leader = etcd_->Leader();
    ASSERT_TRUE(leader.has_value());
    first_ = (*leader + 1) % 3;
    second_ = (*leader + 2) % 3;
    options_ = {.endpoints = {Address(first_), Address(second_)},
                .unary_bound = milliseconds(1000),
                .on_call = [this](std::string_view method, int code, std::chrono::nanoseconds) {
                  attempts_.Add({std::string(method), StatusCodeName(code)});
                }};
  }
  std::string Address(std::size_t member) const { return etcd_->endpoints()[member]; }
  std::size_t Count(const std::string& method, const std::string& code) {
    const auto all = attempts_.Values();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), Attempt{method, code}));
  }
  // On a busy machine the first connection may have failed, and the transport have gone on to the
  // second endpoint: that is a follower too, and then counts as the first for this test.
  void UseFirst(Transport& transport) {
    KeepAliveLog log;
    const auto stream = transport.OpenKeepAlive(7, "", log.Handler());
    if (stream->endpoint() == Address(second_)) std::swap(first_, second_);
    ASSERT_EQ(stream->endpoint(), Address(first_));
  }
  // Writes until one is done. A connection that failed is tried again after a pause of up to two
  // seconds; until then writes fail at once.
  static bool WritesAgain(Transport& transport) {
    const TimePoint patience = BootClock::now() + kPatience;
    while (BootClock::now() < patience) {
      if (Put(transport, "k", "again").status.ok()) return true;
    }
    return false;
  }

  std::unique_ptr<lab::PrivateEtcd> etcd_;
  std::size_t first_ = 0;
  std::size_t second_ = 0;
  Recorder<Attempt> attempts_;
  GrpcTransportOptions options_;
};

// Plan: freeze the member in use. Two writes with far longer deadlines are answered unknown after
// the transport's own timeout; another member does the third. Reads only take longer. When the
// member goes on, a probe through it succeeds.
TEST_F(TransportFailover, LeavesAFrozenEndpointWithinABound) {
  const auto transport = Connect(options_);
  ASSERT_TRUE(Put(*transport, "k", "0").status.ok());
  UseFirst(*transport);
  etcd_->Pause(first_);

  const TimePoint before = BootClock::now();
  for (int i = 0; i < 2; ++i) {
    const auto put = Put(*transport, "k", "frozen", seconds(20));
    EXPECT_EQ(put.status.outcome, Outcome::kUnknown);
    EXPECT_EQ(StatusCodeName(put.status.code), std::string("DEADLINE_EXCEEDED"));
  }
  EXPECT_LT(BootClock::now() - before, seconds(6)) << "two timeouts of one second, and some load";
  EXPECT_TRUE(Put(*transport, "k", "1").status.ok());
  EXPECT_EQ(Count("Txn", "DEADLINE_EXCEEDED"), 2u);
  EXPECT_EQ(Count("Range", "OK"), 0u);

  etcd_->Resume(first_);
  const TimePoint patience = BootClock::now() + kPatience;
  while (Count("Range", "OK") == 0 && BootClock::now() < patience) {
    ASSERT_TRUE(Put(*transport, "k", "2").status.ok());
  }
  EXPECT_GE(Count("Range", "OK"), 1u) << "the probe";
}

// Plan: freeze the member in use, then read: another member answers within the deadline.
TEST_F(TransportFailover, ReadsAroundAFrozenEndpoint) {
  const auto transport = Connect(options_);
  ASSERT_TRUE(Put(*transport, "k", "v").status.ok());
  UseFirst(*transport);
  etcd_->Pause(first_);
  for (int i = 0; i < 3; ++i) {
    const auto got = Get(*transport, "k");
    ASSERT_TRUE(got.status.ok()) << got.status.message;
    EXPECT_EQ(got.response.kvs(0).value(), "v");
  }
  EXPECT_EQ(Count("Range", "OK"), 3u);
}

// Plan: freeze the member in use, then read, avoiding it: the read does not wait for it.
TEST_F(TransportFailover, ReadsElsewhereThanTold) {
  const auto transport = Connect(options_);
  ASSERT_TRUE(Put(*transport, "k", "v").status.ok());
  UseFirst(*transport);
  etcd_->Pause(first_);
  etcdserverpb::RangeRequest request;
  request.set_key("k");
  const auto got = Await<etcdserverpb::RangeResponse>([&](auto handler) {
    transport->RangeAvoiding(Address(first_), request, kDeadline, std::move(handler));
  });
  ASSERT_TRUE(got.status.ok()) << got.status.message;
  EXPECT_EQ(Count("Range", "DEADLINE_EXCEEDED"), 0u);
  EXPECT_EQ(Count("Range", "OK"), 1u);
}

// Plan: streams to a frozen member stay silent; opened with `avoid`, they go elsewhere and work.
TEST_F(TransportFailover, OpensStreamsElsewhereThanTold) {
  const auto transport = Connect(options_);
  ASSERT_TRUE(Grant(*transport, 7, 60).status.ok());
  KeepAliveLog silent;
  UseFirst(*transport);
  const auto stuck = transport->OpenKeepAlive(7, "", silent.Handler());
  ASSERT_EQ(stuck->endpoint(), Address(first_));
  etcd_->Pause(first_);
  stuck->Send();

  KeepAliveLog keepalive_log;
  const auto keepalive = transport->OpenKeepAlive(7, stuck->endpoint(), keepalive_log.Handler());
  EXPECT_EQ(keepalive->endpoint(), Address(second_));
  keepalive->Send();
  EXPECT_EQ(keepalive_log.answers.WaitForCount(1).size(), 1u);
  WatchLog watch_log;
  const auto watch = transport->OpenWatch(WatchFrom("w/", 1), Address(first_), watch_log.Handler());
  EXPECT_EQ(watch->endpoint(), Address(second_));
  EXPECT_TRUE(watch_log.WaitUntilCreated());
  EXPECT_TRUE(silent.answers.Values().empty());
}

// Plan: the first endpoint is dead before anything was sent. The very first write goes on to the
// second, because it certainly was not sent.
TEST_F(TransportFailover, SendsAWriteElsewhereThatNeverLeft) {
  etcd_->Kill(first_);
  const auto transport = Connect(options_);
  const auto put = Put(*transport, "k", "v");
  EXPECT_TRUE(put.status.ok()) << put.status.message;
  EXPECT_EQ(attempts_.Values(), (std::vector<Attempt>{{"Txn", "UNAVAILABLE"}, {"Txn", "OK"}}));
}

// Plan: kill the member in use: the second member serves. Bring the first back and
// kill the second: the first serves again. Streams follow.
TEST_F(TransportFailover, MovesOnFromADeadEndpointAndBack) {
  const auto transport = Connect(options_);
  ASSERT_TRUE(Put(*transport, "k", "0").status.ok());
  UseFirst(*transport);
  const auto first_id = ServerStatus(*transport).response.header().member_id();
  etcd_->Kill(first_);
  EXPECT_TRUE(WritesAgain(*transport));
  EXPECT_NE(ServerStatus(*transport).response.header().member_id(), first_id);
  WatchLog log;
  const auto watch = transport->OpenWatch(WatchFrom("w/", 1), "", log.Handler());
  EXPECT_EQ(watch->endpoint(), Address(second_));

  ASSERT_TRUE(etcd_->Restart(first_).ok());
  etcd_->Kill(second_);
  ASSERT_EQ(log.ended.WaitForCount(1).size(), 1u);
  EXPECT_TRUE(WritesAgain(*transport));
  EXPECT_EQ(ServerStatus(*transport).response.header().member_id(), first_id);
}

// Plan: kill the raft leader while writing through a follower. Every answer is done or unknown, and
// writes are done again once a leader is elected; no write is both refused and applied.
TEST_F(TransportFailover, NeverSaysRefusedBecauseTheRaftLeaderDied) {
  const auto transport = Connect(options_);
  ASSERT_TRUE(Put(*transport, "k", "0").status.ok());
  etcd_->Kill((first_ + 2) % 3);
  bool done = false;
  for (int i = 0; i < 200 && !done; ++i) {
    const auto put = Put(*transport, "k", std::to_string(i));
    ASSERT_NE(put.status.outcome, Outcome::kRefused) << put.status.message;
    done = put.status.ok();
  }
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace baton::etcd::test
