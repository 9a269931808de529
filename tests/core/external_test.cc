// A node whose leaderships another process acts on. Without that process nothing is led. While it
// may still act on a shard, the shard is not given away. Its proven death gives everything away at
// once.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/cluster.h"

namespace baton::test {
namespace {

using core::ApplicationChanged;
using core::ApplicationState;
using core::CallbackKind;

const ShardId kShard{0};

// n1 is external, the others are not.
class ExternalTest : public ::testing::Test {
 protected:
  static ClusterOptions Options(int nodes) {
    ClusterOptions options;
    options.nodes = nodes;
    options.shards = 6;
    options.tune = [](core::CoreOptions& tuned) {
      tuned.external = tuned.self.node == "n1";
      tuned.rebalance_delay = seconds(300);  // nothing moves unless the test asks for it
      tuned.callback_timeout = tuned.release_timeout = tuned.prepare_timeout = seconds(5);
    };
    return options;
  }
  void TearDown() override { EXPECT_EQ(cluster_->violations(), kNone); }

  void Build(int nodes) { cluster_ = std::make_unique<Cluster>(Options(nodes)); }
  void Is(ApplicationState state) { cluster_->Deliver("n1", ApplicationChanged{state}); }
  // All nodes are up, n1's application is attached, every shard is led.
  void Up(int nodes) {
    Build(nodes);
    cluster_->StartAll();
    Is(ApplicationState::kAttached);
    ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->Settled(); }, seconds(30)))
        << cluster_->WhyNotSettled();
  }
  std::size_t LeasesRevoked() { return cluster_->Asked<core::RevokeLease>("n1").size(); }
  bool Releasing(ShardId shard) {
    const auto& held = cluster_->core("n1").leaderships().held();
    const auto found = held.find(shard);
    return found != held.end() &&
           std::holds_alternative<core::Leaderships::Releasing>(found->second.phase);
  }
  // An operator moves shard 0 to n2; n1's application has not answered `releasing`.
  void MoveThatHangs() {
    ASSERT_EQ(cluster_->LeaderOf(kShard), "n1");
    cluster_->Behave("n1", CallbackKind::kReleasing, Behaviour::kHangs);
    cluster_->Transfer("n1", {.shard = kShard, .to = "n2", .if_term = {}, .actor = {}});
    ASSERT_TRUE(cluster_->RunUntil([&] { return Releasing(kShard); }, seconds(5)));
  }

  std::unique_ptr<Cluster> cluster_;
};

// Plan: without an application n1 is no member, and n2 leads everything. Then an application comes.
TEST_F(ExternalTest, TakesPartOnlyWithAnApplication) {
  Build(2);
  cluster_->StartAll();
  cluster_->Run(seconds(20));
  EXPECT_FALSE(cluster_->store().Member("n1").present);
  EXPECT_TRUE(cluster_->Asked<core::GrantLease>("n1").empty());
  EXPECT_EQ(cluster_->LedBy("n2"), 6u);
  Is(ApplicationState::kAttached);
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return cluster_->store().Member("n1").present; }, seconds(1)));
  EXPECT_TRUE(cluster_->store().Member("n1").external);
}

// Plan: n1 has no application for a minute. It reads the group at its start, and then only asks for
// the store's revision. With an application it reads the group once more. It has been longer than a
// TTL since.
TEST_F(ExternalTest, ReadsTheGroupSeldomWithoutAnApplication) {
  Build(2);
  cluster_->StartAll();
  cluster_->Run(seconds(60));
  EXPECT_TRUE(cluster_->Asked<core::AuditView>("n1").empty());
  const std::size_t asked = cluster_->Asked<core::AskRevision>("n1").size();
  EXPECT_GE(asked, 17u);
  EXPECT_LE(asked, 19u);
  Is(ApplicationState::kAttached);
  cluster_->Run(seconds(20));
  EXPECT_EQ(cluster_->Asked<core::AuditView>("n1").size(), 1u);
  EXPECT_EQ(cluster_->Asked<core::AskRevision>("n1").size(), asked);
}

// Plan: n1 has no application for a minute, then it has one. Its session begins only after a read
// of the group: until then its watch may hide, for example, a config that does not fit.
TEST_F(ExternalTest, BeginsNoSessionBeforeANewRead) {
  Build(2);
  cluster_->StartAll();
  cluster_->Run(seconds(60));
  const TimePoint read = cluster_->core("n1").view().read_at();
  Is(ApplicationState::kAttached);
  EXPECT_EQ(cluster_->Asked<core::AuditView>("n1").size(), 1u);
  EXPECT_TRUE(cluster_->Asked<core::GrantLease>("n1").empty());
  ASSERT_TRUE(cluster_->RunUntil([&] { return !cluster_->Asked<core::GrantLease>("n1").empty(); },
                                 seconds(2)));
  EXPECT_GT(cluster_->core("n1").view().read_at(), read);
}

// Plan: the watch of n1, which has no application, stands still while n2 begins to lead. n1 opens
// it again.
TEST_F(ExternalTest, OpensAWatchThatStandsStillWithoutAnApplication) {
  Build(2);
  cluster_->Start("n1");
  cluster_->Run(seconds(1));
  cluster_->StickWatch("n1");
  cluster_->Start("n2");
  ASSERT_TRUE(cluster_->RunUntil([&] { return !cluster_->Asked<core::ReopenWatch>("n1").empty(); },
                                 seconds(10)));
  EXPECT_TRUE(
      cluster_->RunUntil([&] { return cluster_->core("n1").view().vacancies() == 0; }, seconds(5)));
}

// Plan: etcd has a lower revision than n1 knew when it asked: a backup was restored, or etcd was
// wiped. n1 reads what is there now.
TEST_F(ExternalTest, ReadsWhatARestoredEtcdHas) {
  Build(2);
  cluster_->StartAll();
  cluster_->Run(seconds(20));
  const Revision known = cluster_->core("n1").watch_proven();
  cluster_->Deliver("n1", core::RevisionAnswered{known, known});
  EXPECT_TRUE(cluster_->Asked<core::AuditView>("n1").empty());
  cluster_->Deliver("n1", core::RevisionAnswered{known, Revision{known.value - 1}});
  EXPECT_EQ(cluster_->Asked<core::AuditView>("n1").size(), 1u);
}

// Plan: the write that creates the member says that it is external, before any deadline is sent.
TEST_F(ExternalTest, TheMemberSaysSoBeforeAnyDeadline) {
  Up(2);
  const auto created = cluster_->Sent<MemberCreate>("n1");
  ASSERT_FALSE(created.empty());
  EXPECT_TRUE(created.front().second.member.external);
  const auto deadlines = cluster_->Asked<core::SetDeadline>("n1");
  ASSERT_FALSE(deadlines.empty());
  EXPECT_LT(created.front().first, deadlines.front().first);
  EXPECT_FALSE(cluster_->store().Member("n2").external);
}

// Plan: the same for the state directory. A guard ends no session of which the directory says that
// another process acts for it.
TEST_F(ExternalTest, TheStateDirectorySaysSoBeforeTheMember) {
  Up(2);
  const auto recorded = cluster_->Asked<core::RecordSession>("n1");
  const auto created = cluster_->Sent<MemberCreate>("n1");
  ASSERT_FALSE(recorded.empty());
  ASSERT_FALSE(created.empty());
  EXPECT_EQ(recorded.front().second.session, created.front().second.member.session);
  EXPECT_TRUE(recorded.front().second.external);
  EXPECT_LE(recorded.front().first, created.front().first);
  const auto of_n2 = cluster_->Asked<core::RecordSession>("n2");
  ASSERT_FALSE(of_n2.empty());
  EXPECT_FALSE(of_n2.front().second.external);
}

// Plan: the application dies. At the same instant n1 leads nothing, and n2 has everything within a
// few round trips; no session opens until the next application comes.
TEST_F(ExternalTest, DeathGivesEverythingAwayAtOnce) {
  Up(2);
  ASSERT_GT(cluster_->LedBy("n1"), 0u);
  const SessionId before = cluster_->store().Member("n1").session;
  Is(ApplicationState::kAbsent);
  EXPECT_EQ(cluster_->LedBy("n1"), 0u);
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 6u; }, milliseconds(100)));
  cluster_->Run(seconds(30));
  EXPECT_FALSE(cluster_->store().Member("n1").present);
  Is(ApplicationState::kAttached);
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return cluster_->store().Member("n1").present; }, seconds(1)));
  EXPECT_NE(cluster_->store().Member("n1").session, before);
}

// Plan: the application dies while n1 drains, and has not released its shards: they are free, but
// nobody handed them over.
TEST_F(ExternalTest, DeathInADrainIsNoHandoff) {
  Up(2);
  cluster_->Behave("n1", CallbackKind::kReleasing, Behaviour::kHangs);
  cluster_->Drain("n1");
  cluster_->Run(seconds(1));
  ASSERT_GT(cluster_->LedBy("n1"), 0u);
  Is(ApplicationState::kAbsent);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(1)));
  EXPECT_FALSE(cluster_->drained("n1"));
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 6u; }, seconds(1)));
}

// Plan: n1 is ready for shards of n2. Its application dies, and another one comes within the second
// in which the record would not be written again. Nothing that the first one loaded is said of it.
TEST_F(ExternalTest, WhatADeadApplicationLoadedIsNotSaidOfTheNextOne) {
  Up(2);
  ConfigFact config = std::get<ConfigFact>(cluster_->store().Get("config"));
  config.schema = kPlacementSchema;
  config.placement.emplace_back().standbys = 1;
  cluster_->store().Put(config);
  cluster_->HoldWatch("n1", false);  // the watches hear of it
  cluster_->Run(seconds(2));
  const auto say_ready = [&] {
    for (const auto& [at, callback] : cluster_->Asked<core::RunCallback>("n1")) {
      if (callback.kind != CallbackKind::kStandby) continue;
      cluster_->Deliver("n1",
                        core::StandbysReadySaid{{{callback.operation, callback.shard, true}}});
    }
  };
  say_ready();
  ASSERT_TRUE(cluster_->RunUntil([&] { return !cluster_->store().Member("n1").ready.empty(); },
                                 seconds(2)));
  Is(ApplicationState::kAbsent);
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return !cluster_->store().Member("n1").present; }, seconds(1)));
  Is(ApplicationState::kAttached);
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return cluster_->store().Member("n1").present; }, seconds(1)));
  EXPECT_TRUE(cluster_->store().Member("n1").ready.empty());
}

// n1's application fails to activate shards. Whenever n1 leads nothing and does not say that it
// fails, an operator orders a rebalance, so that it gets some.
class FailingApplication : public ExternalTest {
 protected:
  void SetUp() override {
    Build(2);
    cluster_->Behave("n1", CallbackKind::kAcquired, Behaviour::kThrows);
    cluster_->StartAll();
    Is(ApplicationState::kAttached);
  }
  bool SaysFailing() { return cluster_->store().Member("n1").failing; }
  // Waits until n1 has said `times` times that it fails.
  void FailsTimes(int times) {
    bool before = false;
    for (int tick = 0; tick < 2000 && times > 0; ++tick) {
      cluster_->Run(milliseconds(100));
      if (SaysFailing() && !before) --times;
      before = SaysFailing();
      if (!before && cluster_->LedBy("n1") == 0 && tick % 10 == 0) {
        cluster_->Policy("n2", {PolicyKind::kRebalance});
      }
    }
    ASSERT_EQ(times, 0);
  }
  void AnotherApplication(Behaviour behaviour) {
    Is(ApplicationState::kAbsent);
    cluster_->Behave("n1", CallbackKind::kAcquired, behaviour);
    cluster_->Run(seconds(1));
    Is(ApplicationState::kAttached);
    cluster_->Run(seconds(1));
  }
  std::vector<ShardId> TriedFrom(std::size_t first) {
    std::vector<ShardId> tried;
    const auto callbacks = cluster_->Asked<core::RunCallback>("n1");
    for (std::size_t i = first; i < callbacks.size(); ++i) {
      const auto& callback = callbacks[i].second;
      if (callback.kind == CallbackKind::kAcquired) tried.push_back(callback.shard);
    }
    std::sort(tried.begin(), tried.end());
    tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
    return tried;
  }
};

// Plan: it has failed so often that n1 gets nothing for 80 s. Then it is repaired and restarted:
// nothing that the first one did keeps it from its part.
TEST_F(FailingApplication, IsNotHeldAgainstTheNextOne) {
  ASSERT_NO_FATAL_FAILURE(FailsTimes(4));
  AnotherApplication(Behaviour::kReturns);
  EXPECT_FALSE(SaysFailing());
  cluster_->Policy("n2", {PolicyKind::kRebalance});
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->Settled(); }, seconds(10)))
      << cluster_->WhyNotSettled();
}

// Plan: the next one fails, too. That costs one shard, not as many as the first one failed.
TEST_F(FailingApplication, TriesOneShardAfterItsRestart) {
  ASSERT_NO_FATAL_FAILURE(FailsTimes(1));
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == 0; }, seconds(20)));
  const std::size_t first = cluster_->Asked<core::RunCallback>("n1").size();
  AnotherApplication(Behaviour::kThrows);
  ASSERT_NO_FATAL_FAILURE(FailsTimes(1));
  EXPECT_EQ(TriedFrom(first).size(), 1u);
}

// Plan: the application is absent again while the member key is being put: that lease is revoked,
// too, and its key does not stay.
TEST_F(ExternalTest, AnAttemptToOpenASessionEndsToo) {
  Build(2);
  cluster_->Start("n2");
  cluster_->Start("n1");
  cluster_->Run(seconds(3));
  Is(ApplicationState::kAttached);
  ASSERT_TRUE(
      cluster_->RunUntil([&] { return !cluster_->Sent<MemberCreate>("n1").empty(); }, seconds(1)));
  Is(ApplicationState::kAbsent);
  cluster_->Run(seconds(1));
  EXPECT_EQ(LeasesRevoked(), 1u);
  EXPECT_FALSE(cluster_->store().Member("n1").present);
}

// Plan: the application is asked to release, and is cut off. It may act, so the shard stays, even
// beyond the timeout. Once it is back, it has the rest of the timeout, and then the shard goes.
TEST_F(ExternalTest, NothingIsHandedOverWhileItIsDetached) {
  Up(2);
  MoveThatHangs();
  const Term before = cluster_->TermOf(kShard);
  Is(ApplicationState::kDetached);
  cluster_->Run(seconds(6));
  EXPECT_TRUE(cluster_->Leads("n1", kShard));
  EXPECT_EQ(cluster_->TermOf(kShard), before);
  Is(ApplicationState::kAttached);
  cluster_->Run(milliseconds(4900));
  EXPECT_TRUE(cluster_->Leads("n1", kShard));
  EXPECT_TRUE(cluster_->RunUntil([&] { return !cluster_->Leads("n1", kShard); }, seconds(1)));
}

// Plan: the application comes and goes, a second each. Only the time while it could be asked
// counts, and that adds up to the timeout.
TEST_F(ExternalTest, WhoComesAndGoesDoesNotKeepAShard) {
  Up(2);
  MoveThatHangs();
  for (int second = 0; second < 4; ++second) {
    cluster_->Run(seconds(1));
    Is(ApplicationState::kDetached);
    cluster_->Run(seconds(1));
    Is(ApplicationState::kAttached);
  }
  EXPECT_TRUE(cluster_->Leads("n1", kShard));
  EXPECT_TRUE(cluster_->RunUntil([&] { return !cluster_->Leads("n1", kShard); }, seconds(2)));
}

// Plan: n3 dies while n1's application is cut off: n2 takes all, and n1 nothing.
TEST_F(ExternalTest, TakesNothingWhileItIsDetached) {
  Up(3);
  const std::vector<ShardId> before = cluster_->ShardsOf("n1");
  Is(ApplicationState::kDetached);
  cluster_->Kill("n3");
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 4u; }, seconds(30)));
  EXPECT_EQ(cluster_->ShardsOf("n1"), before);
}

// Plan: `acquired` of a shard fails, and then n1's application is cut off. It could answer nothing,
// so nothing is tried. Once it is back, the shard is tried again, in the same term.
TEST_F(ExternalTest, NothingIsTriedWhileItIsDetached) {
  Build(1);
  cluster_->Behave("n1", CallbackKind::kAcquired, kShard, Behaviour::kThrows);
  cluster_->StartAll();
  Is(ApplicationState::kAttached);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == 6u; }, seconds(30)));
  cluster_->Run(seconds(1));
  const auto tries = [&] {
    const auto callbacks = cluster_->Asked<core::RunCallback>("n1");
    return std::count_if(callbacks.begin(), callbacks.end(), [](const auto& asked) {
      return asked.second.kind == CallbackKind::kAcquired && asked.second.shard == kShard;
    });
  };
  const Term term = cluster_->TermOf(kShard);
  Is(ApplicationState::kDetached);
  const auto before = tries();
  EXPECT_GT(before, 1);
  cluster_->Run(seconds(20));
  EXPECT_EQ(tries(), before);
  cluster_->Behave("n1", CallbackKind::kAcquired, kShard, Behaviour::kReturns);
  Is(ApplicationState::kAttached);
  EXPECT_TRUE(
      cluster_->RunUntil([&] { return cluster_->Activated("n1", kShard); }, milliseconds(100)));
  EXPECT_EQ(tries(), before + 1);
  EXPECT_EQ(cluster_->TermOf(kShard), term);
}

// Plan: no other node is there. An embedded node would resign at once; another process must first
// answer that it stopped.
TEST_F(ExternalTest, AsksBeforeItResigns) {
  Up(1);
  cluster_->Behave("n1", CallbackKind::kReleasing, kShard, Behaviour::kHangs);
  cluster_->Drain("n1");
  cluster_->Run(seconds(1));
  EXPECT_EQ(cluster_->ShardsOf("n1"), std::vector<ShardId>{kShard});
  cluster_->Run(seconds(3));
  EXPECT_TRUE(cluster_->Leads("n1", kShard));
  EXPECT_FALSE(cluster_->finished("n1"));
  ASSERT_TRUE(cluster_->RunUntil([&] { return !cluster_->Leads("n1", kShard); }, seconds(2)));
  const core::Leaderships::Counters counters = cluster_->core("n1").leaderships().counters();
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(2)));
  EXPECT_EQ(cluster_->LedBy("n1"), 0u);
  EXPECT_EQ(LeasesRevoked(), 1u);
  EXPECT_EQ(counters.callbacks_timed_out, 1u);
  EXPECT_EQ(counters.moves_timed_out, 0u);  // there was no move
}

// Plan: n1 drains alone, and the application does not answer yet; then another node appears. n1
// still waits: each shard is resigned once its answer or its timeout comes, and asked for only
// once.
TEST_F(ExternalTest, TheAskingGoesOnWhereAnotherNodeAppears) {
  Build(2);
  cluster_->Start("n1");
  Is(ApplicationState::kAttached);
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n1") == 6u; }, seconds(30)));
  cluster_->Behave("n1", CallbackKind::kReleasing, Behaviour::kHangs);
  cluster_->Drain("n1");
  cluster_->Run(seconds(1));
  ASSERT_EQ(cluster_->LedBy("n1"), 6u);
  cluster_->Start("n2");
  ASSERT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, seconds(6)));
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 6u; }, seconds(15)));
  std::map<ShardId, int> asked;
  for (const auto& [at, callback] : cluster_->Asked<core::RunCallback>("n1")) {
    if (callback.kind == CallbackKind::kReleasing) ++asked[callback.shard];
  }
  EXPECT_EQ(asked.size(), 6u);
  for (const auto& [shard, times] : asked) EXPECT_EQ(times, 1) << shard.value;
}

// Plan: the process dies while it is asked to release: n1 does not wait any longer.
TEST_F(ExternalTest, ADeathEndsTheAsking) {
  Up(1);
  cluster_->Behave("n1", CallbackKind::kReleasing, Behaviour::kHangs);
  cluster_->Drain("n1");
  cluster_->Run(seconds(1));
  EXPECT_EQ(cluster_->LedBy("n1"), 6u);
  Is(ApplicationState::kAbsent);
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->finished("n1"); }, milliseconds(100)));
  EXPECT_EQ(LeasesRevoked(), 1u);
}

// Plan: n1 is stopped without a handoff. The application may act until its deadline, so the lease
// is left to expire.
TEST_F(ExternalTest, AStopLeavesTheLeaseToRunOut) {
  Up(2);
  cluster_->Stop("n1");
  cluster_->Run(seconds(1));
  EXPECT_TRUE(cluster_->finished("n1"));
  EXPECT_EQ(LeasesRevoked(), 0u);
  EXPECT_EQ(cluster_->LedBy("n2"), 3u);
  EXPECT_TRUE(cluster_->RunUntil([&] { return cluster_->LedBy("n2") == 6u; }, seconds(15)));
}

// Plan: with a lock delay, `acquired` fails in the application until the backoff is long, then it
// hangs, and the shard is to move. So n1 resigns it, and etcd denies that. While the resignation is
// on its way, `acquired` ends as a failure, which need not be the application's answer: the node
// asked it to stop, and it did not say that it did. So the shard is not handed over, and the next
// resignation does not say that it was released.
TEST_F(ExternalTest, AFailureDuringAResignationIsNoRelease) {
  ASSERT_NO_FATAL_FAILURE(Up(2));
  ConfigFact config = cluster_->core("n1").view().config();
  config.schema = kConfigSchema;
  config.failover.lock_delay = seconds(1);
  cluster_->store().Put(config);
  const ShardId shard = cluster_->ShardsOf("n2").front();
  cluster_->Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kThrows);
  cluster_->Transfer("n2", {.shard = shard, .to = "n1", .if_term = {}, .actor = {}});
  const auto& failed = cluster_->core("n1").leaderships().failed();
  const auto often = [&] { return failed.Has(shard) && failed.failures().at(shard).failures > 6; };
  ASSERT_TRUE(cluster_->RunUntil(often, seconds(60)));
  cluster_->Behave("n1", CallbackKind::kAcquired, shard, Behaviour::kHangs);
  ASSERT_TRUE(cluster_->RunUntil([&] { return failed.Late(shard); }, seconds(20)));
  cluster_->DenyWrites("n1", [](const Write& write) { return IsA<ResignBatch>(write); });
  cluster_->Transfer("n2", {.shard = shard, .to = "n2", .if_term = {}, .actor = {}});
  const auto resigned = [&] { return cluster_->Sent<ResignBatch>("n1").size(); };
  ASSERT_TRUE(cluster_->RunUntil([&] { return resigned() == 1; }, seconds(5)));
  const auto asked = cluster_->Asked<core::RunCallback>("n1");
  const auto hanging = std::find_if(asked.rbegin(), asked.rend(), [&](const auto& one) {
    return one.second.kind == CallbackKind::kAcquired && one.second.shard == shard;
  });
  ASSERT_NE(hanging, asked.rend());
  cluster_->Deliver("n1", core::CallbackReturned{hanging->second.operation, shard, false});
  ASSERT_TRUE(cluster_->RunUntil([&] { return resigned() > 1; }, seconds(1)));
  for (const auto& [at, batch] : cluster_->Sent<ResignBatch>("n1")) {
    EXPECT_FALSE(batch.resigns.front().released);
  }
  EXPECT_TRUE(cluster_->Sent<TransferBatch>("n1").empty());
}

}  // namespace
}  // namespace baton::test
