// top's whole frames as text, for given statuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "app/ctl/top_frame.h"
#include "runtime/fake_control.h"

namespace baton::app {
namespace {

using runtime::FakeControl;
using runtime::NodeStatus;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

NodeStatus Group(std::uint32_t shards) {
  FakeControl control({"n1", "n2", "n3"}, shards);
  return control.Now();
}

NodeStatus Troubled() {
  FakeControl control({"n1", "n2", "n3"}, 30);
  control.Change([](NodeStatus& status) {
    status.members[1].fact.present = false;
    for (std::size_t i = 10; i < 13; ++i) {
      status.shards[i].leader.clear();
      status.shards[i].previous = "n2";
      status.shards[i].state = ShardState::kLeaderless;
    }
    status.shards[0].state = ShardState::kMoving;
    status.shards[1].state = ShardState::kSuspended;
    status.shards[2].state = ShardState::kActivating;
    Transition transition;
    transition.shard = ShardId{13};
    transition.reason = Reason::kLeaseExpired;
    transition.from = "n2";
    transition.to = "n3";
    transition.term = Term{950};
    transition.elect = std::chrono::milliseconds(1300);
    status.recent.push_back(transition);
  });
  return control.Now();
}

// Every part at once: health in words, a gone node, each state of a shard, a transition.
TEST(TopFrame, ShowsTroubleWhereItIs) {
  TopView view;
  view.height = 18;
  const NodeStatus status = Troubled();
  EXPECT_EQ(PlainText(BuildFrame(&status, view)),
            " orders   30 shards, 2 nodes   balance running by n1   revision 900\n"
            " ● 3 shards without a leader, 1 shard suspended   seen from n1, session live, vi\n"
            " × shards 10-12: no leader, last led by n2\n"
            " ! shard 1: suspended, n1 has no confirmed lease\n"
            " NODES\n"
            " a n1   ██████████████░░░░░░ 10/15  active   lease ████████ renewed 1.2s ago\n"
            " b n2   ██████████           7/0    gone     lease 10.0s\n"
            " c n3   ██████████████░░░░░░ 10/15  active   lease 10.0s\n"
            " SHARDS  by leader   + activating  » moving  ! suspended  × leaderless\n"
            "  0 »!+aaaaaaa×××bbbbbbbcccccccccc\n"
            " LAST CHANGES\n"
            " shard 13     n2 → n3               lease_expired     term 950       gap ?+1.3s\n"
            "\n\n\n\n\n"
            " q quit  p pause  ↑↓ shards  ←→ nodes\n");
}

// Plan: a false server tells the longest times that are read, 73 years: sums of them still fit.
TEST(TopFrame, ShowsALeaseOfAnyLength) {
  constexpr auto kYears = std::chrono::hours(24 * 365 * 73);
  const TopView view;
  NodeStatus status = Group(4);
  status.ttl = kYears;
  status.renewal_age = -kYears;
  EXPECT_THAT(PlainText(BuildFrame(&status, view)), HasSubstr("lease ████████ renewed"));
  const Frame frame = BuildFrame(&status, view);
  bool good = false;
  for (const Line& line : frame.lines) {
    for (const Span& span : line) {
      if (span.text.starts_with("lease ████████ renewed")) good = span.ink == Ink::kGood;
    }
  }
  EXPECT_TRUE(good);
}

// Plan: more shards than fit a line, and one whose record is of a newer version.
TEST(TopFrame, NamesTheSickShards) {
  FakeControl control({"n1", "n2", "n3"}, 300);
  control.Change([](NodeStatus& status) {
    for (std::size_t i = 0; i < 300; i += 2) {
      status.shards[i].leader.clear();
      status.shards[i].state = ShardState::kLeaderless;
    }
    status.shards[57].leader.clear();
    status.shards[57].state = ShardState::kLeaderless;
    status.shards[57].quarantined = true;
    status.shards[100].claims_wait = std::chrono::seconds(4);
  });
  const NodeStatus status = control.Now();
  TopView view;
  view.width = 100;
  EXPECT_THAT(PlainText(BuildFrame(&status, view)),
              AllOf(HasSubstr(" × shard 57: record damaged or of a newer version"),
                    HasSubstr(" × shards 0, 2, 4, 6, 8, 10 and 143 more: no leader\n"),
                    HasSubstr(" × shard 100: no leader yet, because several in a row died soon")));
}

// Plan: shards 2 to 4 lack a ready standby, and shard 5 has one.
TEST(TopFrame, NamesTheShardsWithoutAReadyStandby) {
  NodeStatus status = Group(6);
  EXPECT_THAT(PlainText(BuildFrame(&status, {})), Not(HasSubstr("standby")));
  for (std::size_t i = 2; i < 5; ++i) status.shards[i].without_ready_standby = true;
  status.shards[5].standbys = std::make_shared<const std::vector<runtime::StandbyStatus>>(
      std::vector<runtime::StandbyStatus>{{"n3", "127.0.0.1:7403", true}});
  EXPECT_THAT(PlainText(BuildFrame(&status, {})), HasSubstr(" ! shards 2-4: no ready standby\n"));
}

// Plan: a node's name that would clear the screen.
TEST(TopFrame, ControlCharactersAreShownNotSent) {
  NodeStatus status = Group(6);
  status.members[1].fact.node = "n2\033[2J\n";
  const std::string text = PlainText(BuildFrame(&status, {}));
  EXPECT_THAT(text, AllOf(HasSubstr(R"(n2\u001b[2J\n)"), Not(HasSubstr("\033"))));
}

TEST(TopFrame, InksShardsByLeaderAndTroubleLoudly) {
  TopView view;
  const NodeStatus status = Troubled();
  const Frame frame = BuildFrame(&status, view);
  const Line& row = frame.lines[9];
  ASSERT_EQ(row.size(), 7u);
  EXPECT_EQ(row[1].ink, Ink::kNode);
  EXPECT_EQ(row[1].node, 0);
  EXPECT_EQ(row[2].ink, Ink::kWarning);
  EXPECT_EQ(row[4].ink, Ink::kBad);
  EXPECT_EQ(row[4].text, "×××");
  EXPECT_EQ(row[6].node, 2);
}

// 10,000 shards in 80 x 24: a cell has several, and one leaderless shard among them still shows.
TEST(TopFrame, PacksTenThousandShardsAndLosesNoTrouble) {
  NodeStatus status = Group(10'000);
  status.shards[4321].state = ShardState::kLeaderless;
  const std::string text = PlainText(BuildFrame(&status, TopView{}));
  EXPECT_THAT(text, AllOf(HasSubstr("8 per cell  rows  1-"), HasSubstr("a\n")));
  TopView tall;
  tall.height = 60;
  const std::string all = PlainText(BuildFrame(&status, tall));
  EXPECT_THAT(all, AllOf(HasSubstr(" per cell  by leader"), HasSubstr("c\n")));
  EXPECT_NE(all.find("×", all.find("\n  ")), std::string::npos);
}

TEST(TopFrame, ScrollsNoFurtherThanTheEnd) {
  const NodeStatus status = Group(10'000);
  TopView view;
  view.shard_scroll = 1'000'000;
  const Frame frame = BuildFrame(&status, view);
  EXPECT_LT(frame.shard_scroll, 20);
  EXPECT_GT(frame.shard_scroll, 0);
  EXPECT_THAT(PlainText(frame), HasSubstr("-18 of 18"));
}

TEST(TopFrame, SaysThatTheConnectionIsLostAndHowOldThePictureIs) {
  const NodeStatus status = Group(6);
  TopView view;
  view.problem = "cannot reach 127.0.0.1:7400";
  view.age = std::chrono::milliseconds(12'300);
  EXPECT_THAT(PlainText(BuildFrame(&status, view)),
              HasSubstr(" trying again; shown as of 12.3s ago: cannot reach 127.0.0.1:7400\n"));
  EXPECT_THAT(PlainText(BuildFrame(nullptr, view)),
              HasSubstr(" trying again: cannot reach 127.0.0.1:7400\n"));
  view.paused = true;
  EXPECT_THAT(PlainText(BuildFrame(&status, view)),
              HasSubstr(" paused; shown as of 12.3s ago (p resumes)\n"))
      << "nothing is tried meanwhile";
  view.problem.clear();
  EXPECT_THAT(PlainText(BuildFrame(&status, view)), HasSubstr(" paused; shown as of 12.3s ago"));
}

// In windows of all sizes, from nothing to huge, no line is wider and no frame taller.
TEST(TopFrame, FitsEveryWindow) {
  const NodeStatus statuses[] = {Group(1), Troubled(), Group(5'000)};
  for (const NodeStatus& status : statuses) {
    for (const int width : {1, 5, 29, 30, 31, 40, 80, 200}) {
      for (const int height : {1, 2, 3, 7, 8, 9, 12, 24, 70}) {
        TopView view;
        view.width = width;
        view.height = height;
        const Frame frame = BuildFrame(&status, view);
        EXPECT_EQ(static_cast<int>(frame.lines.size()), height) << width;
        for (const Line& line : frame.lines) {
          int columns = 0;
          for (const Span& span : line) columns += Columns(span.text);
          EXPECT_LE(columns, width) << height;
        }
      }
    }
  }
}

TEST(TopFrame, SpeaksAsciiWhereTheTerminalCannotMore) {
  const NodeStatus status = Troubled();
  TopView view;
  view.ascii = true;
  const std::string text = PlainText(BuildFrame(&status, view));
  for (const char byte : text) EXPECT_EQ(static_cast<unsigned char>(byte) & 0x80, 0);
}

}  // namespace
}  // namespace baton::app
