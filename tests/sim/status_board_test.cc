// The status that follows changes shows what a status from nothing shows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>

#include "core/assignment_of_view.h"
#include "runtime/node_status.h"
#include "runtime/status_assignment.h"
#include "sim/small_group.h"

namespace baton::sim {
namespace {

class StatusOfChanges : public SmallGroup {
 protected:
  // Compares what operators are shown with what the facts say now.
  void ExpectTrue(Process& process) {
    if (process.running()) Look(process);
  }
  void Look(Process& process) {
    const core::Core& core = process.engine().core();
    runtime::GroupFollower& follower = process.engine().follower();
    const TimePoint now = NowAt(process);
    follower.ForgetStatus();
    const auto shown = follower.Status();
    runtime::StatusBoard empty;
    const runtime::NodeStatus anew = runtime::StatusOf(core, now, empty);
    ASSERT_EQ(shown->shards.size(), anew.shards.size());
    for (std::size_t s = 0; s < anew.shards.size(); ++s) {
      ExpectSame(shown->shards[s], anew.shards[s]);
      const bool own = anew.shards[s].leader == core.options().self.node;
      if (!own || core.leaderships().held().contains(anew.shards[s].shard)) continue;
      EXPECT_NE(anew.shards[s].state, ShardState::kLed)
          << core.options().self.node << " says that it leads shard " << s << ", and does not";
      if (anew.shards[s].state == ShardState::kSuspended) ++stopped_;
    }
    EXPECT_EQ(shown->leaderless, anew.leaderless);
    EXPECT_EQ(shown->waiting, anew.waiting);
    EXPECT_EQ(anew.waiting,
              std::count_if(anew.shards.begin(), anew.shards.end(),
                            [](const auto& one) { return one.claims_wait.count() > 0; }));
    EXPECT_EQ(anew.leaderless, std::count_if(anew.shards.begin(), anew.shards.end(),
                                             [](const auto& one) { return one.leader.empty(); }));
    ASSERT_EQ(shown->members.size(), anew.members.size());
    for (std::size_t m = 0; m < anew.members.size(); ++m) {
      const runtime::MemberStatus& member = anew.members[m];
      EXPECT_EQ(shown->members[m].led, member.led);
      EXPECT_EQ(shown->members[m].suspended, member.suspended);
      EXPECT_EQ(member.led,
                std::count_if(anew.shards.begin(), anew.shards.end(),
                              [&](const auto& one) { return one.leader == member.fact.node; }));
    }
    ASSERT_EQ(shown->assignment != nullptr, core.view().complete());
    if (shown->assignment != nullptr) {
      const core::AssignmentOfView from_nothing =
          core::AssignmentFrom(core.view(), core.options().settle, now);
      ExpectSame(shown->assignment->Whole(), from_nothing);
      ExpectTargets(*shown, from_nothing.input);
    }
    ++compared_;
  }
  static void ExpectSame(const core::AssignmentOfView& whole, const core::AssignmentOfView& anew) {
    EXPECT_EQ(whole.input.members, anew.input.members);
    EXPECT_EQ(whole.input.pools, anew.input.pools);
    EXPECT_EQ(whole.shard_of, anew.shard_of);
    EXPECT_EQ(whole.input.shards, anew.input.shards);
    EXPECT_EQ(whole.movable, anew.movable);
  }
  static void ExpectSame(const runtime::ShardStatus& shown, const runtime::ShardStatus& anew) {
    EXPECT_EQ(shown.shard, anew.shard);
    EXPECT_EQ(shown.leader, anew.leader) << anew.shard.value;
    EXPECT_EQ(shown.address, anew.address) << anew.shard.value;
    EXPECT_EQ(shown.term, anew.term) << anew.shard.value;
    EXPECT_EQ(shown.state, anew.state) << anew.shard.value;
    EXPECT_EQ(shown.reason, anew.reason) << anew.shard.value;
    EXPECT_EQ(shown.previous, anew.previous) << anew.shard.value;
    EXPECT_EQ(shown.quarantined, anew.quarantined) << anew.shard.value;
    EXPECT_EQ(shown.deaths, anew.deaths) << anew.shard.value;
    EXPECT_EQ(shown.claims_wait, anew.claims_wait) << anew.shard.value;
    EXPECT_EQ(shown.waits_for, anew.waits_for) << anew.shard.value;
    EXPECT_EQ(shown.waits_for_directory, anew.waits_for_directory) << anew.shard.value;
    ASSERT_EQ(shown.move != nullptr, anew.move != nullptr) << anew.shard.value;
    if (!anew.move) return;
    EXPECT_EQ(shown.move->revision, anew.move->revision);
  }
  static void ExpectTargets(const runtime::NodeStatus& shown, const core::AssignmentInput& input) {
    const core::Assignment assigned = core::Assign(input);
    std::map<NodeId, std::uint32_t> targets;
    for (std::size_t m = 0; m < input.members.size(); ++m) {
      targets[input.members[m].id] = assigned.target[m];
    }
    for (const runtime::MemberStatus& member : shown.members) {
      EXPECT_EQ(shown.TargetOf(member), targets[member.fact.node]) << member.fact.node;
    }
  }
  void Compare(Duration length) {
    const TimePoint end = world_.now() + length;
    while (world_.now() < end) {
      RunFor(Duration(static_cast<Duration::rep>(world_.random().Below(3'000'000))));
      for (const auto& process : processes_) ExpectTrue(*process);
    }
  }
  // As n0 shows it.
  std::size_t ShardsWithDeaths() const {
    const auto shown = processes_[0]->engine().follower().Status();
    return static_cast<std::size_t>(std::count_if(shown->shards.begin(), shown->shards.end(),
                                                  [](const auto& one) { return one.deaths > 0; }));
  }
  std::size_t compared_ = 0;
  std::size_t stopped_ = 0;  ///< own shards that were shown as led by a session that is over
};

// Plan: a group forms; etcd stalls, so that all are suspended; operators move and drain; sessions
// end so often that shards wait, and then all are led in peace; a node dies, one drains. At random
// moments, every two milliseconds or so, each node's status is compared.
TEST_F(StatusOfChanges, IsWhatAStatusFromNothingShows) {
  Compare(seconds(5));
  etcd_.SetStalled(true);
  Compare(seconds(12));
  etcd_.SetStalled(false);
  Compare(seconds(2));
  for (std::uint32_t s = 0; s < kShards; s += 3) {
    processes_[0]->Ask(
        runtime::TransferRequest{.shard = ShardId{s}, .to = "n1", .if_term = {}, .actor = "alice"});
  }
  Compare(seconds(1));
  processes_[1]->Ask(runtime::PolicyRequest{
      .verb = runtime::PolicyRequest::Verb::kDrain, .node = "n0", .actor = "alice"});
  Compare(seconds(2));
  processes_[1]->Ask(runtime::PolicyRequest{
      .verb = runtime::PolicyRequest::Verb::kUndrain, .node = "n0", .actor = "alice"});
  Compare(seconds(8));
  for (int death = 0; death < 3; ++death) {
    etcd_.OperatorRevoke(processes_[death % 2]->session().value);
    Compare(seconds(4));
  }
  EXPECT_GT(ShardsWithDeaths(), 0u);
  RunFor(core::kShortLeadership - seconds(3));
  Compare(seconds(4));
  EXPECT_EQ(ShardsWithDeaths(), 0u);
  processes_[2]->Kill();
  Compare(seconds(15));
  processes_[0]->Drain();
  Compare(seconds(3));
  EXPECT_GT(compared_, 1000u);
}

// Plan: a process is stopped for longer than its lease. When it goes on, the first thing that it
// sees may be a request for its status.
TEST_F(StatusOfChanges, SaysThatItHasStoppedOnceItsDeadlineHasPassed) {
  RunFor(seconds(5));
  ExpectTrue(*processes_[0]);
  processes_[0]->Pause();
  RunFor(seconds(20));
  Look(*processes_[0]);
  for (const runtime::ShardStatus& shard : processes_[0]->engine().follower().Status()->shards) {
    EXPECT_TRUE(shard.leader != "n0" || shard.state == ShardState::kSuspended) << shard.shard.value;
  }
  processes_[0]->Resume();
  Compare(seconds(6));
}

// Plan: a process is stopped until just after its deadline, when the answers to a renewal have
// arrived and its loop has not had them yet. It is asked for its status, and then its loop gets
// them: it leads on, and no step saw that it had stopped.
TEST_F(StatusOfChanges, SaysThatItLeadsOnIfARenewalWasUnderWay) {
  using std::chrono::microseconds;
  Process& process = *processes_[0];
  const core::Session& session = process.core().session();
  int led_on = 0;
  RunFor(seconds(5));
  for (int round = 0; round < 100; ++round) {
    const TimePoint before = session.deadline();
    while (session.deadline() == before) RunFor(milliseconds(1));
    RunFor(Duration(ttl_) / 3 - milliseconds(2));
    for (int answers = round % 4, steps = 0; answers >= 0 && steps < 5000; ++steps) {
      RunFor(microseconds(2));
      answers -= process.executor().waiting() > 0 ? 1 : 0;
    }
    const TimePoint deadline = session.deadline();
    process.Pause();
    RunFor(deadline - NowAt(process) + milliseconds(1));
    Look(process);
    process.Resume();
    for (int look = 0; look < 20; ++look) {
      ExpectTrue(process);
      RunFor(microseconds(50));
    }
    led_on += session.live(NowAt(process)) && session.deadline() > deadline ? 1 : 0;
    RunFor(seconds(20));
  }
  EXPECT_GT(led_on, 0);
}

// Plan: the application of a node gives no sign of life, so the node ends its session. It sees its
// records go later, and until then it says that it has stopped.
TEST_F(StatusOfChanges, DoesNotSayThatANodeLeadsByAnEarlierSession) {
  Compare(seconds(5));
  for (int round = 0; round < 20; ++round) {
    processes_[0]->SetSilent(true);
    for (int look = 0; look < 200; ++look) {
      ExpectTrue(*processes_[0]);
      RunFor(std::chrono::microseconds(50));
    }
    RunFor(seconds(2));
    processes_[0]->SetSilent(false);
    RunFor(seconds(15));
  }
  EXPECT_GT(stopped_, 0u);
}

// Plan: n2 has left, and its key is known to be gone. A dry run says what the change itself would.
TEST_F(StatusOfChanges, ADryRunOfADrainKnowsWhoHasLeft) {
  using Verb = runtime::PolicyRequest::Verb;
  RunFor(seconds(5));
  processes_[2]->Stop();
  RunFor(seconds(5));
  const auto dry = [&](Verb verb, const NodeId& node) {
    const auto result = std::make_shared<Status>(Error{ErrorCode::kInternal, "no answer"});
    processes_[0]->engine().Request(
        runtime::PolicyRequest{.verb = verb, .node = node, .dry_run = true, .actor = "alice"},
        [result](const Status& answer) { *result = answer; });
    RunFor(seconds(1));
    return *result;
  };
  EXPECT_TRUE(dry(Verb::kDrain, "n1").ok());
  EXPECT_TRUE(dry(Verb::kUndrain, "n1").ok());
  EXPECT_EQ(dry(Verb::kDrain, "n2").error().message, "no node 'n2' in this group");
  EXPECT_EQ(dry(Verb::kUndrain, "n2").error().message,
            "no node 'n2' in this group, and no drain of that name");
}

}  // namespace
}  // namespace baton::sim
