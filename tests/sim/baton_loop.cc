// baton_loop: what a large group costs the loop of one of its nodes, in processor time. The node is
// real, with its engine; the others are played by a script (crowd.h), and time is virtual.
//
//   baton_loop [--members M --shards N] [--only CASE]
//
// The cases are numbered as they are printed. A turn of the loop holds up everything else on it, so
// the longest turn counts as well as the sum. Exit codes: 0 measured; 1 a case did not end, took a
// turn of more than 50 ms, or more than 5 s in all; 2 usage.
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "sim/arguments.h"
#include "sim/crowd.h"
#include "sim/quiet_log.h"

namespace baton::sim {
namespace {

constexpr Duration kMaxWait = std::chrono::minutes(10);
constexpr Duration kLongestTurn = milliseconds(50);
constexpr Duration kMaxOfACase = seconds(5);

double Milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

struct Size {
  int members = 0;
  std::uint32_t shards = 0;
};

bool Print(const char* what, Size size, Crowd& crowd, bool ended) {
  const LoopCost cost = crowd.TakeCost();
  const bool cheap = cost.longest <= kLongestTurn && cost.all <= kMaxOfACase;
  std::printf("| %s | %d x %u | %llu | %.0f | %.1f%s%s |\n", what, size.members, size.shards,
              static_cast<unsigned long long>(cost.turns), Milliseconds(cost.all),
              Milliseconds(cost.longest), ended ? "" : " NOT DONE", cheap ? "" : " TOO MUCH");
  std::fflush(stdout);
  return ended && cheap;
}

bool Join(Crowd& crowd, Size size, const char* joined, const char* led) {
  for (int n = 0; n < size.members; ++n) {
    crowd.Join(n);
    crowd.RunFor(milliseconds(8));
  }
  const bool good = Print(joined, size, crowd, true);
  if (led == nullptr) return good;
  const bool ended = crowd.RunUntilAllAreLed(kMaxWait);
  return Print(led, size, crowd, ended) && good;
}

bool JoinEmpty(Size size) {
  Crowd crowd({.members = size.members, .shards = size.shards});
  crowd.Start();
  crowd.TakeCost();
  return Join(crowd, size, "members join an empty group, 100 a second", "... until all is led");
}

// The real node leads everything by then.
bool JoinOne(Size size) {
  Crowd crowd({.members = size.members, .shards = size.shards});
  crowd.Start();
  if (!crowd.RunUntilAllAreLed(kMaxWait)) return false;
  const bool good = Print("the first node takes all", size, crowd, true);
  return Join(crowd, size, "members join a node that leads all, 100 a second", nullptr) && good;
}

bool GiveAllAndRest(Crowd& crowd) {
  crowd.GiveAll();
  crowd.RunFor(seconds(1));
  const bool led = crowd.RunUntilAllAreLed(kMaxWait);
  crowd.RunFor(seconds(10));
  crowd.TakeCost();
  return led;
}

// All members are there and lead evenly; what it costs is not measured.
bool ComeToRest(Crowd& crowd, Size size) {
  for (int n = 0; n < size.members; ++n) crowd.Join(n);
  crowd.Start();
  return GiveAllAndRest(crowd);
}

bool Rest(Size size) {
  Crowd crowd({.members = size.members, .shards = size.shards});
  if (!ComeToRest(crowd, size)) return false;
  for (int n = 0; n < 60; ++n) {
    crowd.Update(n % size.members);
    crowd.RunFor(seconds(1));
  }
  bool good = Print("a member's key changes each second, 60 s", size, crowd, true);
  for (int n = 0; n < 100; ++n) {
    crowd.node().executor().Post([&] { crowd.node().engine().follower().Status(); });
    crowd.RunFor(milliseconds(60));
  }
  good = Print("100 answers of the status, nothing changes", size, crowd, true) && good;
  crowd.node().executor().Post([&] { crowd.node().engine().follower().watch().Audit(); });
  crowd.RunFor(seconds(5));
  good = Print("the view is read again", size, crowd, true) && good;
  crowd.StartAnother();
  return Print("a node joins: its first read of the group", size, crowd, true) && good;
}

bool LoseAThird(Size size, Duration pause, const char* dies) {
  Crowd crowd({.members = size.members, .shards = size.shards});
  if (!ComeToRest(crowd, size)) return false;
  for (int n = 0; n < size.members / 3; ++n) {
    crowd.Die(n);
    if (pause > Duration{0}) crowd.RunFor(pause);
  }
  crowd.RunFor(milliseconds(50));
  const bool good = Print(dies, size, crowd, true);
  return Print("... until all is led", size, crowd, crowd.RunUntilAllAreLed(kMaxWait)) && good;
}

bool LoseOneByOne(Size size) {
  return LoseAThird(size, milliseconds(15), "a third dies, one each 15 ms");
}

bool LoseAtOnce(Size size) { return LoseAThird(size, Duration{0}, "a third dies at once"); }

// A rule requires a third of the members for a third of the shards, and these members die. Nobody
// may lead these shards any more, which the balancer reports.
bool LoseAZone(Size size) {
  constexpr int kZones = 3;
  const int zone = (size.members + 1) % kZones;  // not the real node's
  Crowd crowd({.members = size.members, .shards = size.shards, .zones = kZones});
  PlacementRule rule;
  rule.shards = {{0, size.shards / kZones - 1}};
  rule.require = {{std::string(kZoneLabel), {Crowd::ZoneName(zone)}}};
  crowd.StartAsBalancer({rule});
  if (!GiveAllAndRest(crowd)) return false;
  for (int n = zone; n < size.members; n += kZones) {
    crowd.Die(n);
    crowd.RunFor(milliseconds(15));
  }
  const bool good =
      Print("a zone dies that a rule requires, a member each 15 ms", size, crowd, true);
  crowd.RunFor(seconds(10));
  return Print("... and its shards are reported as lost", size, crowd, true) && good;
}

// Three nodes: a third of the shards is a lot.
bool LoseSession(Size size) {
  size.members = 2;
  Crowd crowd({.members = size.members, .shards = size.shards, .listener = true});
  for (int n = 0; n < size.members; ++n) crowd.Join(n);
  crowd.Start();
  if (!crowd.RunUntilAllAreLed(kMaxWait)) return false;
  crowd.RunFor(seconds(1));
  const bool good = Print("a third of the shards is claimed and activated", size, crowd, true);
  crowd.EndSession();
  crowd.RunFor(milliseconds(50));
  return Print("a node of three loses its session", size, crowd, true) && good;
}

// Rules that ask for two standbys of each shard, in other zones.
bool Standbys(Size size) {
  Crowd crowd({.members = size.members, .shards = size.shards, .listener = true, .zones = 3});
  if (!ComeToRest(crowd, size)) return false;
  PlacementRule rule;
  rule.standbys = 2;
  rule.spread = kZoneLabel;
  crowd.SetRules({rule});
  crowd.RunFor(seconds(10));
  bool good = Print("rules ask for two standbys of each shard", size, crowd, true);
  for (int n = 0; n < size.members; ++n) {
    crowd.SayReady(n);
    crowd.RunFor(milliseconds(8));
  }
  good = Print("each member says that it is ready", size, crowd, true) && good;
  crowd.Die(0);
  const bool ended = crowd.RunUntilAllAreLed(kMaxWait);
  crowd.RunFor(seconds(10));
  good = Print("a member dies", size, crowd, ended) && good;
  crowd.Join(0);
  crowd.RunFor(seconds(10));
  good = Print("a member joins", size, crowd, true) && good;
  crowd.StartAnother();
  return Print("a node joins: its first read of the group", size, crowd, true) && good;
}

int RunAll(int count, char** words) {
  std::optional<std::uint64_t> members = 1000;
  std::optional<std::uint64_t> shards = 100'000;
  std::optional<std::uint64_t> only;
  const std::uint64_t most = std::numeric_limits<int>::max();
  const bool read = Read(
      {.flags = {}, .numbers = {{"--members", &members}, {"--shards", &shards}, {"--only", &only}}},
      count, words);
  if (!read || *members < 3 || *members > most || *shards < 1 || *shards > most) {
    std::fputs("usage: baton_loop [--members M] [--shards N] [--only CASE]\n", stderr);
    return 2;
  }
  const Size size{static_cast<int>(*members), static_cast<std::uint32_t>(*shards)};
  QuietLog(false);
  std::printf("| what | members x shards | turns | processor ms | longest turn, ms |\n");
  std::printf("| --- | --- | --- | --- | --- |\n");
  const std::vector<bool (*)(Size)> cases{JoinEmpty,    JoinOne,    Rest,     LoseSession,
                                          LoseOneByOne, LoseAtOnce, Standbys, LoseAZone};
  bool good = true;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!only || *only == i) good = cases[i](size) && good;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace baton::sim

int main(int count, char** words) { return baton::sim::RunAll(count, words); }
