#include "http/overview_json.h"

#include <boost/json.hpp>

#include <array>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/escape.h"
#include "http/attention.h"
#include "http/status_json.h"

namespace baton::http {
namespace {

namespace json = boost::json;
using runtime::NodeStatus;
using runtime::ShardStatus;

constexpr char kUnreadableLetter = 'u';
constexpr char kFirstReasonLetter = 'a';

constexpr char LetterOf(ShardState state) {
  switch (state) {
    case ShardState::kLed: return 'l';
    case ShardState::kActivating: return 'a';
    case ShardState::kMoving: return 'm';
    case ShardState::kSuspended: return 's';
    case ShardState::kLeaderless: return 'x';
  }
  return 'x';
}

json::object StateLetters() {
  json::object letters{{std::string(1, kUnreadableLetter), ToString(Problem::kUnreadable)}};
  for (const ShardState state : {ShardState::kLed, ShardState::kActivating, ShardState::kMoving,
                                 ShardState::kSuspended, ShardState::kLeaderless}) {
    letters[std::string(1, LetterOf(state))] = ToString(state);
  }
  return letters;
}

json::object ReasonLetters() {
  json::object letters;
  for (int i = 0; i < kReasonCount; ++i) {
    letters[std::string(1, static_cast<char>(kFirstReasonLetter + i))] =
        ToString(static_cast<Reason>(i));
  }
  return letters;
}

/// Numbers the names of leaders, and the members' names first.
class Places {
 public:
  explicit Places(const NodeStatus& status) {
    for (const auto& member : status.members) Of(member.fact.node);
  }
  std::int64_t Of(const NodeId& node) {
    if (node.empty()) return -1;
    const auto [place, fresh] = places_.try_emplace(node, names_.size());
    if (fresh) names_.emplace_back(node);
    return static_cast<std::int64_t>(place->second);
  }
  json::array TakeNames() { return std::move(names_); }

 private:
  std::unordered_map<NodeId, std::size_t> places_;
  json::array names_;
};

json::object Grid(const NodeStatus& status) {
  Places places(status);
  json::array leaders;
  std::string states;
  std::string reasons;
  leaders.reserve(status.shards.size());
  for (const ShardStatus& shard : status.shards) {
    leaders.emplace_back(places.Of(shard.leader));
    states += shard.quarantined ? kUnreadableLetter : LetterOf(shard.state);
    reasons += static_cast<char>(kFirstReasonLetter + static_cast<int>(shard.reason));
  }
  return {{"nodes", places.TakeNames()},   {"leaders", std::move(leaders)},
          {"states", std::move(states)},   {"state_letters", StateLetters()},
          {"reasons", std::move(reasons)}, {"reason_letters", ReasonLetters()}};
}

json::object AttentionObject(const OverviewSources& sources) {
  const std::vector<SickShard> sick = SickShards(sources.status, sources.ages);
  std::array<std::uint64_t, kProblemCount> counts{};
  std::array<std::set<NodeId>, kProblemCount> nodes;
  json::array listed;
  for (const SickShard& one : sick) {
    const auto problem = static_cast<std::size_t>(one.problem);
    ++counts[problem];
    const NodeId& whose = one.shard->leader.empty() ? one.shard->previous : one.shard->leader;
    if (!whose.empty() && nodes[problem].size() < kMaxNamed) nodes[problem].insert(whose);
    if (listed.size() == kMaxListed) continue;
    json::object object = ShardFields(*one.shard, sources.status.at);
    object["problem"] = ToString(one.problem);
    object["for_ms"] = std::chrono::floor<std::chrono::milliseconds>(one.age.lasted).count();
    object["at_least"] = one.age.at_least;
    listed.push_back(std::move(object));
  }
  json::object by_problem;
  json::object named;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const char* const problem = ToString(static_cast<Problem>(i));
    by_problem[problem] = counts[i];
    if (!nodes[i].empty()) named[problem] = json::array(nodes[i].begin(), nodes[i].end());
  }
  return {{"counts", std::move(by_problem)},
          {"nodes", std::move(named)},
          {"shards", std::move(listed)}};
}

json::object MovingFor(const OverviewSources& sources) {
  std::vector<const ShardStatus*> moving;
  for (const ShardStatus& shard : sources.status.shards) {
    if (shard.move) moving.push_back(&shard);
  }
  json::object ages;
  const auto found = sources.ages.Of(moving);
  for (const ShardStatus* shard : moving) {
    const std::uint32_t number = shard->shard.value;
    ages[std::to_string(number)] =
        std::chrono::floor<std::chrono::milliseconds>(found.at(number).lasted).count();
  }
  return ages;
}

json::object EtcdObject(const runtime::Control& control) {
  std::uint64_t calls = 0;
  std::uint64_t failed = 0;
  double seconds = 0;
  for (const auto& [call, stats] : control.EtcdCalls()) {
    calls += stats.count;
    if (call.second != "OK") failed += stats.count;
    seconds += stats.sum;
  }
  return {{"calls", calls}, {"failed", failed}, {"seconds", seconds}};
}

}  // namespace

std::string OverviewJson(const OverviewSources& sources) {
  const auto taken = sources.taken.time_since_epoch();
  const json::object more{
      {"taken_ms", std::chrono::floor<std::chrono::milliseconds>(taken).count()},
      {"etcd", EtcdObject(sources.control)},
      {"attention", AttentionObject(sources)},
      {"moving_ms", MovingFor(sources)},
      {"grid", Grid(sources.status)}};
  std::string text = StatusJson(sources.status);
  text.back() = ',';  // replaces the closing brace
  return text += SafeJson(json::serialize(more)).substr(1);
}

}  // namespace baton::http
