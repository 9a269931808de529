// An etcd whose commits stall, or of which one member is frozen: a pause at most, and no election.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "sim/small_group.h"

namespace baton::sim {
namespace {

using testing::SizeIs;

class SlowEtcd : public SmallGroup {
 protected:
  void SetUp() override {}
  void Begin(seconds ttl) {
    ttl_ = ttl;
    SmallGroup::SetUp();
    RunFor(seconds(20));
    ASSERT_EQ(group_.Held(), kShards);
    for (const auto& process : processes_) sessions_.insert(process->core().session().id());
    ASSERT_THAT(sessions_, SizeIs(kNodes));
  }
  std::set<SessionId> Sessions() const {
    std::set<SessionId> now;
    for (const auto& process : processes_) now.insert(process->core().session().id());
    return now;
  }
  /// Whether each process may lead, at each millisecond of the next `length`.
  bool AllLiveFor(Duration length) {
    const TimePoint end = world_.now() + length;
    while (world_.now() < end) {
      RunFor(milliseconds(1));
      for (std::size_t n = 0; n < processes_.size(); ++n) {
        if (!processes_[n]->core().session().live(NowAt(*processes_[n]))) return false;
      }
    }
    return true;
  }

  std::set<SessionId> sessions_;
};

// Plan: no commit passes for four TTLs, while etcd's leader renews leases. The nodes are suspended,
// and their leases live on; then each leads again in its session.
TEST_F(SlowEtcd, StalledCommitsArePausesNotElections) {
  Begin(seconds(3));
  for (const int length : {4, 7, 12}) {
    etcd_.SetStalled(true);
    RunFor(seconds(length));
    etcd_.SetStalled(false);
    RunFor(seconds(5));
    EXPECT_EQ(Sessions(), sessions_) << length << " s";
    EXPECT_TRUE(AllLiveFor(seconds(2)));
  }
}

// Plan: every commit takes two thirds of the TTL: nobody is suspended.
TEST_F(SlowEtcd, SlowCommitsKeepLeasesConfirmed) {
  Begin(seconds(3));
  for (int i = 0; i < 20; ++i) {
    etcd_.SetStalled(true);
    EXPECT_TRUE(AllLiveFor(milliseconds(900))) << i;
    etcd_.SetStalled(false);
    EXPECT_TRUE(AllLiveFor(milliseconds(20))) << i;
  }
  EXPECT_EQ(Sessions(), sessions_);
}

// Plan: each follower of etcd freezes in turn, at many moments of a renewal, for three TTLs. No
// lease is lost and no node is suspended, also at the shortest TTLs.
TEST_F(SlowEtcd, OneFrozenFollowerIsNotFelt) {
  Begin(seconds(2));
  for (int round = 0; round < 30; ++round) {
    const int member = (etcd_.leader() + 1 + round % 2) % EtcdModel::kMembers;
    etcd_.SetFrozen(member, true);
    EXPECT_TRUE(AllLiveFor(seconds(6))) << "round " << round << ", member " << member;
    etcd_.SetFrozen(member, false);
    RunFor(seconds(4) + milliseconds(23 * round));
  }
  EXPECT_EQ(Sessions(), sessions_);
}

// Plan: etcd's leader freezes. Another one is elected, and leases get their full TTL again: no
// lease is lost.
TEST_F(SlowEtcd, AFrozenLeaderCostsNoLease) {
  Begin(seconds(2));
  for (int round = 0; round < 20; ++round) {
    const int member = etcd_.leader();
    etcd_.SetFrozen(member, true);
    RunFor(seconds(8));
    etcd_.SetFrozen(member, false);
    RunFor(seconds(4) + milliseconds(37 * round));
  }
  EXPECT_EQ(Sessions(), sessions_);
}

}  // namespace
}  // namespace baton::sim
