// batonctl history and events: the real program against a real gRPC server on a fake node.
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/batonctl.h"
#include "baton/v1/admin.grpc.pb.h"
#include "http/history_json.h"
#include "runtime/admin_server.h"

namespace baton::app {
namespace {

using runtime::AdminServer;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

class Batonctl3Events : public testing::Test {
 protected:
  void Gain(std::uint32_t shard, std::int64_t term) {
    server_.control.kept->Add(
        {.shard = ShardId{shard},
         .reason = Reason::kOperator,
         .from = "n1",
         .to = "n2",
         .term = Term{term},
         .actor = "ann@desk"},
        Revision{term},
        {.detect_at_most = {}, .elect = std::chrono::milliseconds(20), .activate = {}});
  }
  void Death(std::uint32_t shard, const runtime::GapPhases& gap) {
    const Term term{810 + shard};
    server_.control.kept->Add({.shard = ShardId{shard},
                               .reason = Reason::kLeaseExpired,
                               .from = "n1",
                               .to = "n2",
                               .term = term},
                              Revision{term.value}, gap);
  }
  AdminServer server_{{"n1", "n2", "n3"}, 6};
};

TEST_F(Batonctl3Events, HistoryIsATable) {
  Gain(3, 815);
  Gain(4, 816);
  const Ran ran = Batonctl(server_, {"history"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_THAT(ran.out, StartsWith("AT "));
  EXPECT_THAT(ran.out, HasSubstr("Z      3  n1    n2  operator   815  20ms  ann@desk  -\n"));
  EXPECT_THAT(ran.out, HasSubstr("Z      4  n1    n2  operator   816  20ms  ann@desk  -\n"));
  EXPECT_THAT(ran.err, IsEmpty());
  const Ran wide = Batonctl(server_, {"history", "3", "-o", "wide"});
  EXPECT_THAT(wide.out, AllOf(HasSubstr("ann@desk"), HasSubstr("815"), Not(HasSubstr("816"))));
}

// Plan: four deaths: with a bound of the time until it was noticed, without one, without any
// measured phase, and one that a guard saw. No row claims a length that nobody knows.
TEST_F(Batonctl3Events, TheGapOfADeathIsShownAsFarAsItIsKnown) {
  using std::chrono::milliseconds;
  Death(3, {.detect_at_most = milliseconds(10'500), .elect = milliseconds(5), .activate = {}});
  Death(4, {.detect_at_most = {}, .elect = milliseconds(5), .activate = {}});
  Death(5, {});
  Death(
      2,
      {.detect_at_most = {}, .detect = milliseconds(20), .elect = milliseconds(5), .activate = {}});
  const Ran ran = Batonctl(server_, {"history"});
  EXPECT_THAT(ran.out, HasSubstr("Z      3  n1    n2  lease_expired   813  <=10.5s  -      -\n"));
  EXPECT_THAT(ran.out, HasSubstr("Z      4  n1    n2  lease_expired   814    ?+5ms  -      -\n"));
  EXPECT_THAT(ran.out, HasSubstr("Z      5  n1    n2  lease_expired   815        ?  -      -\n"));
  EXPECT_THAT(ran.out, HasSubstr("Z      2  n1    n2  lease_expired   812     25ms  -      -\n"));
  EXPECT_THAT(Batonctl(server_, {"events", "--shard", "4"}).out, HasSubstr("gap ?+5ms\n"));
  EXPECT_THAT(Batonctl(server_, {"history", "3", "-o", "wide"}).out, HasSubstr("  <=10.5s    5ms"));
  EXPECT_THAT(Batonctl(server_, {"history", "2", "-o", "wide"}).out, HasSubstr("  20ms    5ms"));
}

TEST_F(Batonctl3Events, WhatOperatorsOrderedIsAmongTheEvents) {
  server_.control.kept->AddChange("drain n3", "ann@desk", Revision{820});
  EXPECT_THAT(Batonctl(server_, {"history"}).out,
              testing::ContainsRegex("Z +- +- +- +drain n3 +- +- +ann@desk +-\n"));
  EXPECT_THAT(Batonctl(server_, {"events"}).out,
              testing::ContainsRegex("Z +-  drain n3  by ann@desk\n"));
  EXPECT_THAT(Batonctl(server_, {"events", "-o", "json"}).out,
              HasSubstr("\"change\":\"drain n3\",\"revision\":820,\"actor\":\"ann@desk\""));
  EXPECT_THAT(Batonctl(server_, {"history", "3"}).out, IsEmpty());
}

// The output is the document of /v1/events.
TEST_F(Batonctl3Events, HistoryAsJsonIsTheDocumentOfHttp) {
  Gain(3, 815);
  const Ran ran = Batonctl(server_, {"history", "-o", "json"});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  EXPECT_EQ(ran.out, http::EventsJson(server_.control.kept->Read({})) + "\n");
}

TEST_F(Batonctl3Events, HistorySaysThatThereIsNone) {
  const Ran ran = Batonctl(server_, {"history", "5"});
  EXPECT_EQ(ran.exit, 0);
  EXPECT_THAT(ran.out, IsEmpty());
  EXPECT_THAT(ran.err, HasSubstr("node n1 has seen no transition of this shard since 20"));
}

// Plan: each verb that takes a shard's number is given one that the group doesn't have.
TEST_F(Batonctl3Events, AShardOutOfRangeIsNotFound) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"history", "4000"},
                                             {"history", "6", "-o", "json"},
                                             {"events", "--shard", "4000"},
                                             {"events", "-f", "--shard", "6"},
                                             {"shards", "describe", "6"}}) {
    const Ran ran = Batonctl(server_, words);
    EXPECT_EQ(ran.exit, 4) << testing::PrintToString(words);
    EXPECT_THAT(ran.out, IsEmpty());
    EXPECT_THAT(ran.err, HasSubstr("group orders has shards 0 to 5"));
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

// Plan: more events than the node keeps. batonctl shows those, and says that older ones are
// missing.
TEST_F(Batonctl3Events, HistorySaysWhatIsMissing) {
  for (int i = 1; i <= 103; ++i) Gain(0, i);
  const Ran ran = Batonctl(server_, {"history"});
  EXPECT_THAT(ran.err, HasSubstr("older ones are missing: node n1 keeps events 4 to 103"));
}

// Plan: the number is of an earlier process: batonctl says so and shows all events. Then some
// events after the number are gone: it says that, too. With a shard nobody knows whether those were
// its own.
TEST_F(Batonctl3Events, EventsSayWhereTheyCantGoOn) {
  Gain(3, 815);
  const Ran ahead = Batonctl(server_, {"events", "--after", "7"});
  EXPECT_EQ(ahead.exit, 0);
  EXPECT_THAT(ahead.err,
              HasSubstr("number 7 is of an earlier process, or another node: node n1 keeps "
                        "events 1 to 1 of its process since 20"));
  EXPECT_THAT(ahead.out, HasSubstr("term 815"));
  for (int i = 1; i <= 103; ++i) Gain(0, 815 + i);
  EXPECT_THAT(Batonctl(server_, {"events", "--after", "2"}).err,
              HasSubstr("older ones are missing: node n1 keeps events 5 to 104"));
  EXPECT_THAT(Batonctl(server_, {"events", "--after", "2", "--shard", "1"}).err,
              HasSubstr("older ones may be missing: node n1 keeps events 5 to 104"));
  EXPECT_THAT(Batonctl(server_, {"events", "--after", "104"}).err, IsEmpty());
}

// Plan: an actor and a node's name have control characters. None reaches the terminal, neither in
// tables nor in lines.
TEST_F(Batonctl3Events, ControlCharactersAreShownNotSent) {
  server_.control.kept->Add({.shard = ShardId{3},
                             .reason = Reason::kOperator,
                             .from = "n1\033[2J",
                             .to = "n2",
                             .term = Term{815},
                             .actor = "ann\r\n\x7f\xc2\x9b"},
                            Revision{815}, {});
  const auto control = [](const std::string& text) {
    return std::any_of(text.begin(), text.end(), [](char byte) {
      return byte != '\n' && (static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f);
    });
  };
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"events"}, {"history", "-o", "wide"}}) {
    const Ran ran = Batonctl(server_, words);
    EXPECT_FALSE(control(ran.out)) << ran.out;
    EXPECT_THAT(ran.out, AllOf(HasSubstr(R"(n1\u001b[2J)"), HasSubstr(R"(ann\r\n\u007f\u009b)")));
  }
}

TEST_F(Batonctl3Events, EventsAreALineEach) {
  Gain(3, 815);
  Gain(4, 816);
  const Ran lines = Batonctl(server_, {"events"});
  EXPECT_EQ(lines.exit, 0) << lines.err;
  EXPECT_THAT(lines.out, HasSubstr("n1 -> n2          operator         term 815        gap 20ms  "
                                   "by ann@desk\n"));
  const Ran json = Batonctl(server_, {"events", "--after", "1", "-o", "json"});
  EXPECT_EQ(json.out,
            http::EventJson(*server_.control.kept->Read({.after = 1}).events.front(), "n1") + "\n");
}

// Plan: events that come while batonctl follows are printed at once; Ctrl-C ends it.
TEST_F(Batonctl3Events, FollowedEventsComeAsTheyHappen) {
  Gain(3, 815);
  RunOptions options = Ctl(server_.endpoint, {"events", "-f", "--after", "0", "-o", "json"});
  int lines = 0;
  options.watch = [&](const Ran& ran, pid_t pid) {
    const auto now = static_cast<int>(std::count(ran.out.begin(), ran.out.end(), '\n'));
    if (now == lines) return;
    lines = now;
    if (now < 3) Gain(4, 815 + now);
    if (now == 3) kill(pid, SIGINT);
  };
  const Ran ran = RunProcess(options);
  EXPECT_EQ(ran.exit, 130);
  EXPECT_THAT(ran.out, HasSubstr("\"term\":817,"));
  EXPECT_THAT(ran.err, IsEmpty());
}

// Plan: others hold all places for followers. There may be one soon, so the exit code says "not
// now".
TEST_F(Batonctl3Events, FollowingWithoutAPlaceIsUnavailable) {
  const auto stub = v1::AdminService::NewStub(
      grpc::CreateChannel(server_.endpoint, grpc::InsecureChannelCredentials()));
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<std::unique_ptr<grpc::ClientReader<v1::WatchEventsResponse>>> followers;
  for (std::size_t n = 0; n < runtime::kMaxEventStreams; ++n) {
    contexts.push_back(std::make_unique<grpc::ClientContext>());
    followers.push_back(stub->WatchEvents(contexts.back().get(), {}));
    v1::WatchEventsResponse first;
    ASSERT_TRUE(followers.back()->Read(&first)) << n;
  }
  const Ran ran = Batonctl(server_, {"events", "-f"});
  EXPECT_EQ(ran.exit, 3);
  EXPECT_THAT(ran.err, HasSubstr("too many callers follow this node's events"));
  for (const auto& context : contexts) context->TryCancel();
}

TEST_F(Batonctl3Events, FollowingEndsInTime) {
  const Ran ran = Batonctl(server_, {"events", "-f", "--timeout", "300ms"});
  EXPECT_EQ(ran.exit, 5);
  EXPECT_THAT(ran.err, HasSubstr("the time of --timeout is over"));
}

TEST_F(Batonctl3Events, FollowingNobodyIsUnreachable) {
  const Ran ran = RunProcess(Ctl("127.0.0.1:1", {"events", "-f"}));
  EXPECT_EQ(ran.exit, 3);
  EXPECT_THAT(ran.err, HasSubstr("cannot reach"));
}

}  // namespace
}  // namespace baton::app
