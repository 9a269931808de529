// An etcd that is wiped or restored under running nodes: whole engines on virtual time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/small_group.h"

namespace baton::sim {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::int64_t kBump = 1'000'000;

class EtcdUnderNodes : public SmallGroup {
 protected:
  /// The group runs, and etcd's raft term is above its first.
  void RunUntilARestartOfEtcd() {
    RunFor(seconds(20));
    etcd_.MoveLeader();
    RunFor(seconds(20));
    ASSERT_EQ(group_.Held(), kShards);
    ASSERT_GT(etcd_.raft_term(), EtcdModel::kFirstRaftTerm);
  }
  /// All sessions end, and all shards are claimed again.
  void ChangeAllRecords() {
    for (int n = 0; n < kNodes; ++n)
      etcd_.OperatorRevoke(processes_[Index(n)]->core().session().id().value);
    RunFor(seconds(20));
    ASSERT_EQ(group_.Held(), kShards);
  }
  static std::size_t Index(int n) { return static_cast<std::size_t>(n); }
  std::vector<std::string> Halted() const {
    std::vector<std::string> why;
    for (const auto& [process, message] : observer_.halted) why.push_back(message);
    return why;
  }
};

// Plan: etcd is restarted once and then wiped. Its raft terms begin again, below those that the
// nodes know. Within seconds each node halts, and says that etcd went back in time.
TEST_F(EtcdUnderNodes, AWipeIsNoticedWithinSeconds) {
  RunUntilARestartOfEtcd();
  etcd_.Restore({});
  RunFor(seconds(10));
  EXPECT_THAT(Halted(), SizeIs(kNodes));
  EXPECT_THAT(Halted(), Each(HasSubstr("etcd went back in time: a commit of ours had revision ")));
}

// Plan: the same with a backup that has the nodes' sessions, and their leases.
TEST_F(EtcdUnderNodes, ARestoredBackupIsNoticedWithinSeconds) {
  RunUntilARestartOfEtcd();
  const EtcdModel::Backup backup = etcd_.Save();
  pb::TxnRequest put;
  put.add_success()->mutable_request_put()->set_key("/others/key");
  for (int i = 0; i < 10; ++i) etcd_.OperatorTxn(put);
  RunFor(seconds(10));
  etcd_.Restore(backup);
  RunFor(seconds(10));
  EXPECT_THAT(Halted(), SizeIs(kNodes));
  EXPECT_THAT(Halted(), Each(HasSubstr("etcd went back in time: a commit of ours had revision ")));
}

// Plan: the backup is restored with its revision raised, so that no commit is below an earlier one.
// But it has records and members of an earlier time: nodes see that they are older than known.
TEST_F(EtcdUnderNodes, ARestoredBackupWithARaisedRevisionIsNoticedWithinSeconds) {
  RunUntilARestartOfEtcd();
  EtcdModel::Backup backup = etcd_.Save();
  backup.store.Bump(kBump);
  ChangeAllRecords();
  etcd_.Restore(backup);
  RunFor(seconds(10));
  EXPECT_THAT(Halted(), SizeIs(kNodes));
  EXPECT_THAT(Halted(), Each(HasSubstr("etcd went back in time: a key had revision ")));
}

// Plan: nothing of the group changed since the backup, and its revision was raised: the group goes
// on. Each shard is led in its earlier term.
TEST_F(EtcdUnderNodes, ARestoredBackupWithARaisedRevisionIsNoticedByNobodyIfNothingIsLost) {
  RunUntilARestartOfEtcd();
  EtcdModel::Backup backup = etcd_.Save();
  backup.store.Bump(kBump);
  RunFor(seconds(5));
  etcd_.Restore(backup);
  RunFor(seconds(20));
  EXPECT_THAT(Halted(), SizeIs(0));
  EXPECT_EQ(group_.Held(), kShards);
}

}  // namespace
}  // namespace baton::sim
