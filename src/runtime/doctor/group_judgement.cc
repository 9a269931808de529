#include "runtime/doctor/group_judgement.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/options.h"
#include "runtime/rules_not_kept.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kManySeries = 200'000;
constexpr std::size_t kSeriesOfAShard = 4;
constexpr std::size_t kMaxNamed = 5;

/// The nodes that left within the last hour, did not say so, and are not back.
std::vector<std::string> Gone(const NodeStatus& status) {
  std::vector<std::string> gone;
  std::size_t more = 0;
  for (const DepartedMember& departed : status.departed) {
    if (departed.back || departed.why == Reason::kShutdown) continue;
    if (gone.size() == kMaxNamed) {
      ++more;
      continue;
    }
    const auto age = std::chrono::duration_cast<std::chrono::minutes>(departed.age).count();
    gone.push_back(fmt::format("{} ({}, {} min ago)", departed.node,
                               departed.why ? ToString(*departed.why) : "reason unknown",
                               age == 0 ? "less than 1" : std::to_string(age)));
  }
  if (more > 0) gone.push_back(fmt::format("and {} more", more));
  return gone;
}

/// At most kMaxNamed of them, and then how many more.
std::string NamesOf(const std::set<NodeId>& nodes) {
  std::vector<std::string> named;
  for (const NodeId& node : nodes) {
    if (named.size() == kMaxNamed) {
      named.push_back(fmt::format("{} more", nodes.size() - kMaxNamed));
      break;
    }
    named.push_back(node);
  }
  return fmt::format("{}", fmt::join(named, ", "));
}

/// REQUIRES: some shard waits by the group's failover settings.
Finding WaitingBySettings(const NodeStatus& status) {
  const std::string what =
      fmt::format("{} of {} wait for a leader, by the group's failover settings",
                  status.waiting_by_settings, status.shard_count);
  std::set<NodeId> back;
  bool others = false;
  for (const ShardStatus& shard : status.shards) {
    if (!shard.leader.empty() || !WaitsBySettings(shard, status.at)) continue;
    if (shard.claims_wait.count() > 0) continue;  // not counted in waiting_by_settings
    if (shard.waits_for_directory) {
      back.insert(shard.waits_for);
    } else {
      others = true;
    }
  }
  if (back.empty()) {
    return {"shards", Severity::kProblem, what,
            "`batonctl shards list -o wide` says for which node or time: bring the node back, or "
            "release what it led (docs/operating.md, Failover as a policy)"};
  }
  const std::string names = NamesOf(back);
  return {"shards", Severity::kProblem,
          fmt::format("{}: {} {} back with another state directory, or with none", what, names,
                      back.size() == 1 ? "is" : "are"),
          fmt::format("release these shards, or start {} with the old one{} (`batonctl shards list "
                      "-o wide` says which; docs/operating.md, Failover as a policy)",
                      names, others ? "; bring the other nodes back" : "")};
}

/// One way in which rules are not kept, and what to do. The words stand before and after
/// "1 of 2 shards".
struct RuleCase {
  Severity severity;
  std::uint32_t RuleGaps::*gap;
  const char* before;
  const char* after;
  const char* advice;
};

constexpr RuleCase kRuleCases[] = {
    {Severity::kProblem, &RuleGaps::nobody_may_lead, "nobody leads ", ", because no live node may",
     "start nodes with these labels, or change the rules: `batonctl placement get`, `check` and "
     "`set` (docs/placement.md)"},
    {Severity::kWarning, &RuleGaps::led_against_rule, "the leaders of ",
     " could not begin to lead them",
     "balance moves them once nodes that may lead them are there: `batonctl placement check` with "
     "the rules says which (docs/placement.md)"},
    {Severity::kWarning, &RuleGaps::without_ready_standby, "", " have no ready standby",
     "standbys that still load will be ready: `batonctl shards list` shows them; if no node stands "
     "by, start more nodes with the labels that the rule wants (docs/placement.md)"},
    {Severity::kWarning, &RuleGaps::fewer_standbys, "",
     " have fewer standbys than their rule asks for",
     "start more nodes with the labels that the rule wants, or ask for fewer standbys "
     "(docs/placement.md)"},
    {Severity::kNotice, &RuleGaps::not_apart, "",
     " have a leader and standbys that share a value of the label of `spread`",
     "if they are to be apart, start nodes with more values of the label (docs/placement.md)"},
    {Severity::kNotice, &RuleGaps::fewer_ready_standbys, "",
     " have fewer ready standbys than their rule asks for",
     "standbys that still load will be ready: `batonctl shards list` shows them"},
};

/// Names the rules that are not kept, but don't have this gap. A rule whose standbys only load does
/// not count.
std::string OtherRules(const Placement& placement, const RulesNotKept& rules,
                       std::uint32_t RuleGaps::*gap) {
  std::set<std::uint32_t> others;
  for (const auto& [number, gaps] : rules) {
    const bool loads = gaps == RuleGaps{.fewer_ready_standbys = gaps.fewer_ready_standbys};
    if (gaps.*gap == 0 && !loads) others.insert(number);
  }
  return others.empty() ? "" : "; not kept either: " + RuleNames(placement, others);
}

/// The finding if no other finding about placement was made.
std::string KeptWords(const Placement& placement) {
  if (placement.empty()) return "there are no rules";
  const bool one = placement.size() == 1;
  const bool standbys = std::any_of(placement.begin(), placement.end(),
                                    [](const PlacementRule& rule) { return rule.standbys > 0; });
  std::string words = one ? "1 rule: it forbids no leader"
                          : fmt::format("{} rules: they forbid no leader", placement.size());
  if (standbys)
    words += fmt::format(", and the standbys {} for are ready", one ? "it asks" : "they ask");
  return words;
}

}  // namespace

std::string AlsoBySettings(const NodeStatus& status) {
  const auto count =
      std::count_if(status.shards.begin(), status.shards.end(), [&](const ShardStatus& shard) {
        return shard.claims_wait.count() > 0 && WaitsBySettings(shard, status.at);
      });
  return count == 0 ? ""
                    : fmt::format("; {} of these also {} by the failover settings", count,
                                  count == 1 ? "waits" : "wait");
}

Finding Candidates(const Examination& seen) {
  std::size_t live = 0, drained = 0, leaving = 0, weightless = 0;
  std::vector<std::string> unhealthy;
  for (const MemberStatus& member : seen.status.members) {
    if (!member.fact.Live()) continue;
    ++live;
    if (member.drained_by_policy) {
      ++drained;
    } else if (member.fact.unhealthy) {
      unhealthy.push_back(member.fact.node);
    } else if (member.fact.state != MemberState::kActive) {
      ++leaving;
    } else if (member.fact.weight == 0) {
      ++weightless;
    }
  }
  if (live == 0) return {"candidates", Severity::kNotice, "not known: no node is live", {}};
  const std::size_t may_lead = live - drained - leaving - weightless - unhealthy.size();
  if (may_lead > 0 && !unhealthy.empty()) {
    return {"candidates", Severity::kWarning,
            fmt::format("{} of {} live nodes may lead; not healthy by their own word: {}", may_lead,
                        live, fmt::join(unhealthy, ", ")),
            "their applications called SetHealthy(false): see their logs"};
  }
  if (may_lead > 0) {
    return {"candidates",
            Severity::kOk,
            fmt::format("{} of {} live nodes may lead", may_lead, live),
            {}};
  }
  const char* const advice =
      drained > 0 ? "`batonctl nodes undrain NODE` for those that are to lead, or start a node"
      : !unhealthy.empty() ? "their applications called SetHealthy(false): see their logs"
                           : "start a node with a weight above 0";
  return {"candidates", Severity::kProblem,
          fmt::format("none of {} live nodes may lead: {} drained, {} stopping, {} of weight 0, {} "
                      "not healthy; they keep what they lead, and {} after a death",
                      live, drained, leaving, weightless, unhealthy.size(),
                      weightless == live ? "nobody takes over"
                                         : "only those of weight above 0 among them take over"),
          advice};
}

Finding QuarantinedRecords(const Examination& seen) {
  std::optional<std::int64_t> kept;
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    if (endpoint.quarantined) kept = std::max(kept.value_or(0), *endpoint.quarantined);
  }
  if (!kept) return {"records", Severity::kNotice, "not known", {}};
  if (*kept == 0) return {"records", Severity::kOk, "none was damaged", {}};
  return {"records", Severity::kWarning,
          fmt::format("{} damaged records, the last of each shard, were replaced, and are kept "
                      "below quarantine/: somebody "
                      "else writes the group's keys",
                      *kept),
          fmt::format("look at them (`etcdctl get --prefix {}/{}/quarantine/`), find the writer, "
                      "then delete them",
                      seen.etcd_prefix, seen.status.group)};
}

Finding Activations(const NodeStatus& status) {
  if (status.failing == 0 || status.worst_failing.empty()) {
    std::vector<std::string> failing;
    for (const MemberStatus& member : status.members) {
      if (member.fact.Live() && member.fact.failing) failing.push_back(member.fact.node);
    }
    if (failing.empty()) {
      return {"activation", Severity::kOk, "no shard of this node fails to activate", {}};
    }
    return {
        "activation", Severity::kWarning,
        fmt::format("activations fail on {}: unless that is so on most nodes, no shards go there",
                    fmt::join(failing, ", ")),
        "`batonctl doctor` there has the errors"};
  }
  const ShardStatus& worst = status.worst_failing.front();
  const auto lasted = std::chrono::duration_cast<std::chrono::seconds>(worst.failing->lasted);
  const std::string untried =
      status.untried == 0 ? "" : fmt::format(", {} more wait for their first try", status.untried);
  return {"activation", Severity::kProblem,
          fmt::format("{} of the shards that {} leads fail to activate{}; worst: shard {}, {} "
                      "attempts in {} s, last error: {}",
                      status.failing, status.node, untried, worst.shard.value,
                      worst.failing->attempts, lasted.count(), worst.failing->last_error),
          fmt::format("repair what the error names; the node tries again every 5 s at least, or at "
                      "once with `batonctl shards retry {}` there",
                      worst.shard.value)};
}

Finding Callbacks(const NodeStatus& status) {
  if (status.stopping == 0 || status.longest_stopping.empty()) {
    return {
        "callbacks", Severity::kOk, "no callback of a shard that this node gave up is late", {}};
  }
  const StoppingShard& longest = status.longest_stopping.front();
  return {"callbacks", Severity::kWarning,
          fmt::format("{} of the shards that {} gave up are still stopping: a callback of theirs "
                      "has not returned; longest: shard {}, for {} s",
                      status.stopping, status.node, longest.shard.value,
                      std::chrono::duration_cast<std::chrono::seconds>(longest.lasted).count()),
          "find out what these callbacks (acquired, releasing, lost) wait for; the shards can't "
          "begin again on this node before they return"};
}

Finding ExpectedNodes(const Examination& seen) {
  const NodeStatus& status = seen.status;
  const auto live = std::count_if(status.members.begin(), status.members.end(),
                                  [](const MemberStatus& member) { return member.fact.Live(); });
  const std::vector<std::string> gone = Gone(status);
  const std::string names = gone.empty() ? "" : fmt::format("; gone: {}", fmt::join(gone, ", "));
  const std::string advice = fmt::format(
      "start the nodes that are missing, or see their logs; if {0} are meant, `batonctl group set "
      "expected-nodes {0}`",
      live);
  if (status.expected_nodes == 0) {
    if (gone.empty())
      return {"expected_nodes", Severity::kOk, "nobody is gone; no number is set", {}};
    return {"expected_nodes", Severity::kWarning, fmt::format("gone: {}", fmt::join(gone, ", ")),
            advice};
  }
  const std::string count = fmt::format("{} of {} are live", live, status.expected_nodes);
  if (live < static_cast<std::ptrdiff_t>(status.expected_nodes)) {
    return {"expected_nodes", Severity::kProblem, count + names, advice};
  }
  return {"expected_nodes", Severity::kOk, count + names, {}};
}

Finding Failover(const Examination& seen) {
  const NodeStatus& status = seen.status;
  const char* const policy = ToString(status.failover.policy);
  std::set<NodeId> without;
  for (const MemberStatus& member : status.members) {
    const bool begins = member.fact.weight > 0 && !member.drained_by_policy;
    const bool concerned = member.fact.Live() && (begins || member.led > 0);
    if (concerned && member.fact.directory == 0) without.insert(member.fact.node);
  }
  if (status.failover.policy != FailoverPolicy::kNever || without.empty()) {
    return {"failover", Severity::kOk, fmt::format("the setting is {}", policy), {}};
  }
  return {"failover", Severity::kWarning,
          fmt::format("failover is never, and {} no state directory: after a restart nobody may "
                      "lead what {} led",
                      without.size() == 1 ? NamesOf(without) + " has" : NamesOf(without) + " have",
                      without.size() == 1 ? "it" : "they"),
          "give each of these nodes a state directory that it keeps (--state-dir, "
          "NodeOptions::state_dir), or drain it until it leads nothing"};
}

Finding Shards(const Examination& seen) {
  const NodeStatus& status = seen.status;
  const auto count = [&](auto which) {
    return std::count_if(status.shards.begin(), status.shards.end(), which);
  };
  const auto damaged = count([](const ShardStatus& shard) { return shard.quarantined; });
  const auto suspended =
      count([](const ShardStatus& shard) { return shard.state == ShardState::kSuspended; });
  if (damaged > 0) {
    return {"shards", Severity::kProblem,
            fmt::format("{} have records that can't be read", damaged),
            "see quarantine/ below the group's prefix for what was found, and who wrote it"};
  }
  // A shard may have several reasons to wait, so the status's counts of them don't add up.
  const bool without_reason =
      std::any_of(status.shards.begin(), status.shards.end(), [&](const ShardStatus& shard) {
        return shard.leader.empty() && shard.claims_wait.count() == 0 && !shard.nobody_may_lead &&
               !WaitsBySettings(shard, status.at);
      });
  if (without_reason) {
    return {"shards", Severity::kProblem,
            fmt::format("{} of {} have no leader", status.leaderless, status.shard_count),
            status.braking
                ? "succession waits, because many members vanished at once: bring them back"
                : "see that a live member with a weight above 0 is not drained"};
  }
  if (suspended > 0) {
    return {"shards", Severity::kProblem, fmt::format("{} are suspended on this node", suspended),
            "its lease was not confirmed in time: see the findings about etcd"};
  }
  if (status.waiting > 0) {
    return {"shards", Severity::kProblem,
            fmt::format("{} of {} wait for a leader, because theirs died{}", status.waiting,
                        status.shard_count, AlsoBySettings(status)),
            "see the finding about deaths"};
  }
  if (status.waiting_by_settings > 0) return WaitingBySettings(status);
  if (status.nobody_may_lead > 0) {
    return {"shards", Severity::kProblem,
            fmt::format("{} of {} have no leader, by a placement rule", status.nobody_may_lead,
                        status.shard_count),
            "see the finding about placement"};
  }
  return {"shards", Severity::kOk, fmt::format("all {} are led", status.shard_count), {}};
}

Finding PlacementFinding(const Examination& seen) {
  const Placement& placement = seen.status.placement;
  const RulesNotKept rules = FindRulesNotKept(seen.status);
  for (const RuleCase& one : kRuleCases) {
    const std::uint32_t shards = ShardsWith(rules, one.gap);
    if (shards == 0) continue;
    return {"placement", one.severity,
            fmt::format("{}{} of {} shards{}, by {}{}", one.before, shards, seen.status.shard_count,
                        one.after, RuleNames(placement, rules, one.gap),
                        OtherRules(placement, rules, one.gap)),
            one.advice};
  }
  return {"placement", Severity::kOk, KeptWords(placement), {}};
}

Finding Deaths(const Examination& seen) {
  const ShardStatus* worst = nullptr;
  std::size_t many = 0;
  for (const ShardStatus& shard : seen.status.shards) {
    if (shard.deaths < core::kDeathsBeforeWaiting) continue;
    ++many;
    if (worst == nullptr || shard.deaths > worst->deaths) worst = &shard;
  }
  if (worst == nullptr)
    return {"deaths", Severity::kOk, "no shard's leaders die again and again", {}};
  const bool waits = worst->claims_wait.count() > 0;
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(worst->claims_wait).count();
  return {
      "deaths", waits ? Severity::kProblem : Severity::kWarning,
      fmt::format("{} shards lost their leaders soon, several times in a row: shard {} {} times{}",
                  many, worst->shard.value, worst->deaths,
                  waits ? fmt::format(", nobody claims it for {} s", seconds) : ""),
      "see what the application does with that shard, and the last words of the processes that "
      "led it"};
}

Finding Balance(const Examination& seen) {
  const NodeStatus& status = seen.status;
  if (status.paused)
    return {"balance", Severity::kNotice, "paused by an operator",
            "`batonctl resume`, once that is over"};
  if (status.balancer.empty() && status.ready && status.members.size() > 1) {
    return {"balance", Severity::kWarning, "nobody plans moves",
            "wait a moment; then see the nodes' logs"};
  }
  const auto moving = std::count_if(status.shards.begin(), status.shards.end(),
                                    [](const ShardStatus& shard) { return shard.move != nullptr; });
  return {"balance",
          Severity::kOk,
          fmt::format("{}, {} moves in flight",
                      status.balancer.empty() ? "no balancer" : "planned by " + status.balancer,
                      moving),
          {}};
}

Finding Series(const Examination& seen) {
  std::size_t led = 0;
  for (const ShardStatus& shard : seen.status.shards)
    led += shard.leader == seen.status.node ? 1 : 0;
  const std::size_t series = led * kSeriesOfAShard;
  const std::string what = fmt::format("about {} on this node's /metrics/shards, {} in the group",
                                       series, seen.status.shards.size() * kSeriesOfAShard);
  if (seen.max_shard_series && series > *seen.max_shard_series) {
    return {"series", Severity::kWarning,
            fmt::format("{}; at most {} are shown", what, *seen.max_shard_series),
            "raise --max-shard-series, or leave the scrape of /metrics/shards out"};
  }
  if (seen.status.shards.size() * kSeriesOfAShard > kManySeries) {
    return {"series", Severity::kNotice, what,
            "scrape /metrics/shards seldom, or not at all: /metrics alone says how the group is"};
  }
  return {"series", Severity::kOk, what, {}};
}

}  // namespace baton::runtime
