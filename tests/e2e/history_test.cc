// The transitions that nodes keep: the same on each node, by HTTP, batonctl and the events file.
// And logs are silent while nothing happens.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include "app/ctl_process.h"
#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using testing::HasSubstr;

/// The part of an event on which all observers must agree.
struct Known {
  std::int64_t term;
  std::string reason;
  std::string from;
  std::string to;
  friend bool operator==(const Known&, const Known&) = default;
};
using ByShard = std::map<int, Known>;

std::string Text(const json::value& name) {
  return name.is_null() ? "nobody" : std::string(name.as_string());
}
Known KnownOf(const json::value& event) {
  return {event.at("term").as_int64(), Text(event.at("reason")), Text(event.at("from")),
          Text(event.at("to"))};
}

class HistoryTest : public testing::Test {
 protected:
  explicit HistoryTest(GroupOptions options = {.shards = 12})
      : cluster_(SharedEtcd(), std::move(options)) {}
  json::value Events(const std::string& node, const std::string& query = "") const {
    return json::parse(cluster_.HttpBody(node, "/v1/events" + query));
  }
  std::int64_t Last(const std::string& node) const { return Events(node).at("last").as_int64(); }
  /// The events that `node` saw after a number, by shard. Checks that each shard is there once.
  ByShard Since(const std::string& node, std::int64_t after) const {
    ByShard known;
    const json::value page = Events(node, "?after=" + std::to_string(after) + "&limit=10000");
    for (const json::value& event : page.at("events").as_array()) {
      if (event.as_object().contains("change")) continue;
      const int shard = static_cast<int>(event.at("shard").as_int64());
      EXPECT_TRUE(known.emplace(shard, KnownOf(event)).second) << "twice: " << shard;
      EXPECT_EQ(Text(event.at("observer")), node);
      EXPECT_EQ(event.at("revision"), event.at("term"));
    }
    return known;
  }
  /// Waits until both nodes have seen that many events.
  void AwaitEvents(const std::map<std::string, std::int64_t>& before, std::size_t count) {
    cluster_.Await("all transitions in every history", [&] {
      return std::all_of(before.begin(), before.end(), [&](const auto& entry) {
        return Last(entry.first) >= entry.second + static_cast<std::int64_t>(count);
      });
    });
  }

  /// The name that the nodes know this process by.
  std::string Me() const {
    const std::string said = cluster_.Ctl("n2", {"whoami"}).out;
    return said.substr(0, said.rfind(": "));
  }

  Cluster cluster_;
};
/// Of deaths that the end of a lease shows.
class HistoryOfLeases : public HistoryTest {
 protected:
  HistoryOfLeases() : HistoryTest({.shards = 12, .ttl = kShortLease, .flags = kNoGuard}) {}
};

// Plan: three nodes, of which one is killed. The histories of both survivors have the same shards,
// each once, with the reason, both leaders and the term of the table. The node that gained a shard
// knows how long nobody led it. batonctl shows the same.
TEST_F(HistoryOfLeases, OfADeathIsTheSameOnEverySurvivor) {
  cluster_.StartAll({"n1", "n2", "n3"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2", "n3"});
  const std::map<std::string, std::int64_t> marks{{"n1", Last("n1")}, {"n2", Last("n2")}};
  const std::set<int> lost = LedBy(before, "n3");
  cluster_.node("n3").Kill();
  const Table after = cluster_.AwaitBalanced({"n1", "n2"});
  AwaitEvents(marks, lost.size());

  ByShard expected;
  for (const int shard : lost) {
    const Row& row = after[static_cast<std::size_t>(shard)];
    expected[shard] = {row.term, "lease_expired", "n3", row.leader};
  }
  EXPECT_EQ(Since("n1", marks.at("n1")), expected);
  EXPECT_EQ(Since("n2", marks.at("n2")), expected);
  for (const char* node : {"n1", "n2"}) {
    const json::value page = Events(node, "?after=" + std::to_string(marks.at(node)));
    for (const json::value& event : page.at("events").as_array()) {
      const json::object& gap = event.at("gap").as_object();
      const bool gained = Text(event.at("to")) == node;
      EXPECT_EQ(event.at("cause").at("kind"), "has_room");
      EXPECT_EQ(gap.contains("activate_seconds"), gained);
      // If an event has a bound of the gap, it covers the lease that had to run out.
      EXPECT_EQ(gap.contains("at_most_seconds"), gap.contains("detect_at_most_seconds"));
      if (gap.contains("at_most_seconds")) {
        EXPECT_GE(gap.at("at_most_seconds").to_number<double>(), cluster_.ttl().count() * 2 / 3);
      }
      if (gained) {
        EXPECT_GT(gap.at("elect_seconds").to_number<double>(), 0);
      }
    }
  }
  const int shard = *lost.begin();
  const app::Ran listed = cluster_.Ctl("n1", {"history", std::to_string(shard), "-o", "json"});
  ASSERT_EQ(listed.exit, 0) << listed.err;
  const json::array shown = json::parse(listed.out).at("events").as_array();
  ASSERT_FALSE(shown.empty());
  EXPECT_EQ(KnownOf(shown.back()), expected.at(shard));
}

// Plan: an operator moves a shard. A follower of a node that had no part in it sees the move live,
// with who asked for it, and the node that lost the shard has it in its events file.
TEST_F(HistoryTest, OfAMoveNamesWhoAskedForIt) {
  const std::string path = cluster_.folder() + "/events.jsonl";
  cluster_.Start("n1", {"--events-file", path});
  cluster_.StartAll({"n2", "n3"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2", "n3"});
  const int shard = *LedBy(before, "n1").begin();

  app::RunOptions follower;
  follower.arguments = {BATONCTL, "--endpoint", cluster_.node("n3").endpoint(), "events",
                        "-f",     "--after",    std::to_string(Last("n3")),     "-o",
                        "json"};
  for (const std::string& word : CtlFlags()) follower.arguments.push_back(word);
  follower.watch = [&](const app::Ran& ran, pid_t pid) {
    if (ran.out.find("\"operator\"") != std::string::npos) kill(pid, SIGINT);
  };
  // The follower begins after a given number, so the move may come before or after the follower.
  const app::Ran moved =
      cluster_.Ctl("n2", {"shards", "transfer", std::to_string(shard), "--to", "n2"});
  ASSERT_EQ(moved.exit, 0) << moved.err;
  const app::Ran followed = app::RunProcess(follower);
  EXPECT_EQ(followed.exit, 130) << followed.err;
  const json::value event = json::parse(followed.out.substr(0, followed.out.find('\n')));
  EXPECT_EQ(event.at("shard").as_int64(), shard);
  EXPECT_EQ(Text(event.at("from")), "n1");
  EXPECT_EQ(Text(event.at("to")), "n2");
  EXPECT_EQ(Text(event.at("actor")), Me());
  EXPECT_EQ(Text(event.at("observer")), "n3");

  cluster_.Await("the move in the file", [&] {
    std::ifstream in(path);
    std::stringstream all;
    all << in.rdbuf();
    return all.str().find("\"reason\":\"operator\",\"from\":\"n1\",\"to\":\"n2\"") !=
           std::string::npos;
  });
}

// Plan: an operator asks n1 for a drain, a pause and a setting, and takes them back. n2 and a relay
// saw all of that, in order, and by whom. A node that starts later does not.
TEST_F(HistoryTest, HasWhatOperatorsOrderedAndTookBack) {
  cluster_.StartAll({"n1", "n2"});
  cluster_.AwaitBalanced({"n1", "n2"});
  cluster_.WaitReady(cluster_.LaunchRelay("r1"));
  const std::vector<std::vector<std::string>> orders = {{"pause"},
                                                        {"nodes", "drain", "n2"},
                                                        {"resume"},
                                                        {"nodes", "undrain", "n2"},
                                                        {"group", "set", "expected-nodes", "2"},
                                                        {"group", "set", "expected-nodes", "0"}};
  for (const auto& order : orders) ASSERT_EQ(cluster_.Ctl("n1", order).exit, 0) << order[0];
  const auto seen = [&](const std::string& node) {
    std::vector<std::string> changes;
    const json::value page = Events(node);
    for (const json::value& event : page.at("events").as_array()) {
      if (!event.as_object().contains("change")) continue;
      changes.push_back(Text(event.at("change")));
      EXPECT_EQ(Text(event.at("actor")), Me());
    }
    return changes;
  };
  const std::vector<std::string> expected = {"pause",      "drain n2",         "resume",
                                             "undrain n2", "expected-nodes 2", "expected-nodes 0"};
  for (const char* node : {"n1", "n2", "r1"}) {
    cluster_.Await("all that was ordered", [&] { return seen(node) == expected; });
  }
  EXPECT_THAT(cluster_.Ctl("n2", {"history"}).out, HasSubstr("undrain n2"));
  cluster_.Start("n3");
  EXPECT_THAT(seen("n3"), testing::IsEmpty());
}

// Plan: a bound of 5 events in a group of 12 shards. The answer names the oldest event kept, and
// says what a restart lost.
TEST_F(HistoryTest, IsBoundedAndBeginsAnewWithTheProcess) {
  cluster_.Start("n1", {"--history", "5"});
  cluster_.AwaitBalanced({"n1"});
  cluster_.Await("12 transitions", [&] { return Last("n1") >= 12; });
  const json::value page = Events("n1");
  EXPECT_EQ(page.at("first").as_int64(), 8);
  EXPECT_EQ(page.at("events").as_array().size(), 5u);
  EXPECT_THAT(cluster_.Ctl("n1", {"history"}).err, HasSubstr("older ones are missing"));
  cluster_.node("n1").Kill();
  cluster_.Start("n1", {"--history", "5"});
  cluster_.AwaitBalanced({"n1"});
  EXPECT_NE(Events("n1").at("started"), page.at("started"));
  EXPECT_LE(Last("n1"), 12);
}

// Plan: a relay, which leads nothing, is asked.
TEST_F(HistoryOfLeases, IsKeptByRelaysToo) {
  cluster_.StartAll({"n1", "n2"});
  const Table before = cluster_.AwaitBalanced({"n1", "n2"});
  NodeProcess& relay = cluster_.LaunchRelay("r1");
  cluster_.WaitReady(relay);
  const std::set<int> lost = LedBy(before, "n2");
  cluster_.node("n2").Kill();
  const Table after = cluster_.AwaitBalanced({"n1"});
  cluster_.Await("the relay's history",
                 [&] { return Last("r1") >= static_cast<std::int64_t>(lost.size()); });
  const ByShard known = Since("r1", 0);
  for (const int shard : lost) {
    const Row& row = after[static_cast<std::size_t>(shard)];
    ASSERT_TRUE(known.contains(shard));
    EXPECT_EQ(known.at(shard), (Known{row.term, "lease_expired", "n2", "n1"}));
  }
}

class QuietMinute : public HistoryTest {
 protected:
  using Logs = std::map<std::string, std::string>;
  Logs ReadLogs() {
    Logs logs;
    for (const std::string& node : nodes_) logs[node] = cluster_.node(node).Log();
    return logs;
  }
  /// The lines that came since, each behind its node's id.
  std::string NewLines(const Logs& before) {
    std::string lines;
    for (const auto& [node, text] : ReadLogs()) {
      if (text != before.at(node)) lines += node + ": " + text.substr(before.at(node).size());
    }
    return lines;
  }

  const std::vector<std::string> nodes_ = {"n1", "n2", "n3"};
};

// Plan: a balanced group for a real minute, by this host's clock: no line in any log. Only if etcd
// or the machine stood still, a node says so, and another minute may follow, or a third.
TEST_F(QuietMinute, LogsNothing) {
  cluster_.StartAll(nodes_);
  cluster_.AwaitBalanced({"n1", "n2", "n3"});
  const auto renewals = [&] {
    return cluster_.Metric("n1", "baton_lease_renewals_total{result=\"confirmed\"}");
  };
  // By then the lines of the last transitions are written.
  const double first = renewals();
  cluster_.Await("some renewals", [&] { return renewals() >= first + 2; });
  std::string said;
  for (int minute = 0; minute < 3; ++minute) {
    const Logs before = ReadLogs();
    const TimePoint end = BootClock::now() + seconds(60);
    cluster_.Await(
        "a minute", [&] { return BootClock::now() >= end; }, seconds(90));
    said = NewLines(before);
    if (said.empty()) return;
    std::cout << said;
    std::istringstream lines(said);
    for (std::string line; std::getline(lines, line);) {
      ASSERT_TRUE(std::regex_search(line, std::regex("suspend|resume|watch: "))) << line;
    }
  }
  FAIL() << "three minutes, and in each of them a line like\n" << said;
}

}  // namespace
}  // namespace baton::e2e
