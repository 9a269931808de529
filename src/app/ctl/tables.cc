#include "app/ctl/tables.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/timestamp.h"
#include "runtime/doctor/group_judgement.h"
#include "runtime/rules_not_kept.h"

namespace baton::app {
namespace {

using runtime::DepartedMember;
using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;

constexpr std::size_t kMaxGoneLines = 5;
constexpr std::size_t kMaxLabelsWidth = 40;  ///< but one label is always shown

Style StyleOf(ShardState state) {
  switch (state) {
    case ShardState::kLed: return Style::kGood;
    case ShardState::kActivating: return Style::kPlain;
    case ShardState::kMoving: return Style::kWarning;
    case ShardState::kSuspended:
    case ShardState::kLeaderless: return Style::kBad;
  }
  return Style::kPlain;
}

Style StyleOf(const MemberStatus& member) {
  if (!member.fact.Live()) return Style::kBad;
  return MemberWord(member) == "active" ? Style::kGood : Style::kWarning;
}

Cell OrDash(const std::string& text) { return text.empty() ? Cell{"-", Style::kDim} : Cell{text}; }

std::string MoveWord(const ShardStatus& shard) {
  if (!shard.move) return "";
  return fmt::format("to {}, {}", shard.move->to, ToString(shard.move->phase));
}

/// Why the shard is not claimed: what ends last.
std::string WaitWord(const ShardStatus& shard, TimePoint at) {
  const auto lock = runtime::LockWait(shard, at);
  if (!shard.waits_for.empty()) {
    std::string words = "waits for " + shard.waits_for;
    if (shard.waits_for_directory) words += " with its old state directory";
    if (const auto others = runtime::OthersWait(shard, at)) {
      words += fmt::format(", {} alone", AgeWord(*others));
    }
    if (lock.count() > 0) words += fmt::format(", {} for the lock delay", AgeWord(lock));
    return words;
  }
  if (lock > shard.claims_wait) return fmt::format("waits {} for the lock delay", AgeWord(lock));
  if (shard.claims_wait.count() == 0) return "";
  return fmt::format("waits {} after {} deaths", AgeWord(shard.claims_wait), shard.deaths);
}

/// Says how a placement rule concerns the shard's leader, or its lack of one.
std::string RuleWord(const ShardStatus& shard) {
  if (shard.nobody_may_lead) return fmt::format("rule {} lets nobody here lead it", shard.rule);
  if (shard.led_against_rule) return fmt::format("rule {} forbids its leader", shard.rule);
  return "";
}

/// All that is under way with the shard.
std::string StateOfMove(const ShardStatus& shard, TimePoint at) {
  if (shard.quarantined) return "record quarantined";
  const std::string move = MoveWord(shard) + WaitWord(shard, at);
  const std::string rule = RuleWord(shard);
  return move + (move.empty() || rule.empty() ? "" : "; ") + rule;
}

std::vector<Cell> ShardRow(const ShardStatus& shard, TimePoint at, bool wide) {
  std::vector<Cell> row{
      {std::to_string(shard.shard.value)},
      OrDash(shard.leader),
      shard.term.value == 0 ? OrDash("") : Cell{std::to_string(shard.term.value)},
      {ToString(shard.state), shard.failing ? Style::kBad : StyleOf(shard.state)}};
  if (!wide) return row;
  row.push_back(OrDash(shard.address));
  row.push_back({ToString(shard.reason)});
  row.push_back(OrDash(shard.previous));
  row.push_back(OrDash(StateOfMove(shard, at)));
  row.push_back(shard.failing ? Cell{FailingWords(*shard.failing), Style::kBad} : OrDash(""));
  return row;
}

Cell GapCell(const runtime::HistoryEvent& event) {
  const std::string word = GapWord(event.transition, event.gap);
  return OrDash(word == "-" ? "" : word);
}

std::string WordOf(const std::optional<std::chrono::nanoseconds>& phase) {
  return phase ? AgeWord(*phase) : "";
}

/// When and why a member left.
std::string LeftWord(const DepartedMember& departed) {
  return fmt::format("{} {} ago", departed.why ? ToString(*departed.why) : "reason unknown",
                     AgeWord(departed.age));
}

/// The row of a member that left and is not back.
std::vector<Cell> GoneRow(const DepartedMember& departed) {
  return {{departed.node}, {"gone", Style::kBad}, {"0"}, {"0"}, OrDash(""), OrDash(""), OrDash("")};
}

/// Adds the column LEFT, and rows for those who are gone.
void AddDepartures(const NodeStatus& status, Table* table) {
  std::map<NodeId, std::string> left;
  for (const DepartedMember& departed : status.departed) {
    const bool shown = departed.back || std::any_of(status.members.begin(), status.members.end(),
                                                    [&](const MemberStatus& member) {
                                                      return member.fact.node == departed.node;
                                                    });
    left[departed.node] = LeftWord(departed);
    if (!shown) table->rows.push_back(GoneRow(departed));
  }
  table->columns.push_back({"LEFT"});
  for (std::vector<Cell>& row : table->rows) {
    const auto found = left.find(row.front().text);
    row.resize(table->columns.size() - 1, OrDash(""));
    row.push_back(OrDash(found == left.end() ? "" : found->second));
  }
}

/// "disk=ssd,rack=r7", or as many of them as are narrow: "disk=ssd,rack=r7 and 3 more".
std::string LabelsWord(const Labels& labels, bool wide) {
  std::string word;
  std::size_t shown = 0;
  for (const auto& [name, value] : labels) {
    const std::string next = fmt::format("{}{}={}", shown == 0 ? "" : ",", name, value);
    if (!wide && shown > 0 && word.size() + next.size() > kMaxLabelsWidth) break;
    word += next;
    ++shown;
  }
  if (shown < labels.size()) word += fmt::format(" and {} more", labels.size() - shown);
  return word;
}

/// Adds the column LABELS, if a node has any.
void AddLabels(const NodeStatus& status, bool wide, Table* table) {
  const auto has_labels = [](const MemberStatus& member) { return !member.fact.labels.empty(); };
  if (std::none_of(status.members.begin(), status.members.end(), has_labels)) return;
  table->columns.push_back({"LABELS"});
  for (std::size_t i = 0; i < status.members.size(); ++i) {
    table->rows[i].push_back(OrDash(LabelsWord(status.members[i].fact.labels, wide)));
  }
}

std::vector<Cell> NodeRow(const MemberStatus& member, bool wide) {
  const MemberFact& fact = member.fact;
  std::vector<Cell> row{{fact.node},
                        {MemberWord(member), StyleOf(member)},
                        {std::to_string(member.led)},
                        {std::to_string(member.told_target)},
                        {std::to_string(fact.weight)},
                        OrDash(fact.zone),
                        OrDash(fact.address)};
  if (!wide) return row;
  row.push_back(OrDash(fact.http_address));
  row.push_back(OrDash(fact.service_address));
  row.push_back(OrDash(fact.software_version));
  row.push_back({std::to_string(fact.session.value)});
  row.push_back({AgeWord(fact.ttl)});
  return row;
}

}  // namespace

Table ShardsTable(const NodeStatus& status, bool wide) {
  Table table{{{"SHARD", Align::kRight}, {"LEADER"}, {"TERM", Align::kRight}, {"STATE"}}, {}};
  if (wide) {
    for (const char* title : {"ADDRESS", "REASON", "PREVIOUS", "MOVE", "FAILING"}) {
      table.columns.push_back({title});
    }
  }
  for (const ShardStatus& shard : status.shards)
    table.rows.push_back(ShardRow(shard, status.at, wide));
  return table;
}

std::vector<std::string> StandbyLines(const ShardStatus& shard) {
  if (shard.standbys == nullptr && shard.without_ready_standby) return {"no node"};
  std::vector<std::string> lines;
  if (shard.standbys == nullptr) return lines;
  for (const runtime::StandbyStatus& standby : *shard.standbys) {
    lines.push_back(standby.node + (standby.ready ? " ready" : " not ready"));
  }
  return lines;
}

void AddStandbys(const NodeStatus& status, Table* table) {
  const auto shown = [](const ShardStatus& shard) { return !StandbyLines(shard).empty(); };
  if (std::none_of(status.shards.begin(), status.shards.end(), shown)) return;
  table->columns.push_back({"STANDBYS"});
  for (std::size_t i = 0; i < status.shards.size(); ++i) {
    const ShardStatus& shard = status.shards[i];
    Cell cell = OrDash(fmt::format("{}", fmt::join(StandbyLines(shard), ", ")));
    if (shard.without_ready_standby) cell.style = Style::kWarning;
    table->rows[i].push_back(std::move(cell));
  }
}

std::vector<std::string> PlacementLines(const NodeStatus& status) {
  using runtime::RuleGaps;
  const runtime::RulesNotKept rules = runtime::FindRulesNotKept(status);
  std::vector<std::string> lines;
  const auto add = [&](std::uint32_t RuleGaps::*gap, const char* words) {
    const std::uint32_t shards = runtime::ShardsWith(rules, gap);
    if (shards == 0) return;
    lines.push_back(fmt::format("{} {}, by {}",
                                shards == 1 ? "1 shard has" : CountOf(shards, "shard") + " have",
                                words, runtime::RuleNames(status.placement, rules, gap)));
  };
  add(&RuleGaps::led_against_rule, "a leader that may not begin to lead");
  add(&RuleGaps::without_ready_standby, "no ready standby");
  add(&RuleGaps::fewer_standbys, "fewer standbys than asked for");
  add(&RuleGaps::not_apart, "a leader and standbys that share a value of the label of `spread`");
  return lines;
}

Table NodesTable(const NodeStatus& status, bool wide) {
  Table table{{{"NODE"},
               {"STATE"},
               {"LED", Align::kRight},
               {"TARGET", Align::kRight},
               {"WEIGHT", Align::kRight},
               {"ZONE"},
               {"ADDRESS"}},
              {}};
  if (wide) {
    for (const char* title : {"HTTP", "SERVICE", "VERSION", "SESSION", "TTL"}) {
      table.columns.push_back({title});
    }
  }
  for (const MemberStatus& member : status.members) table.rows.push_back(NodeRow(member, wide));
  AddLabels(status, wide, &table);
  if (!status.departed.empty()) AddDepartures(status, &table);
  return table;
}

Table MovesTable(const std::vector<MoveFact>& moves, bool wide) {
  Table table{{{"SHARD", Align::kRight}, {"FROM"}, {"TO"}, {"REASON"}, {"PHASE"}}, {}};
  if (wide) {
    table.columns.push_back({"TERM", Align::kRight});
    table.columns.push_back({"ACTOR"});
  }
  table.columns.push_back({"CAUSE"});
  for (const MoveFact& move : moves) {
    std::vector<Cell> row{{std::to_string(move.shard.value)},
                          OrDash(move.from),
                          OrDash(move.to),
                          {ToString(move.reason)},
                          {ToString(move.phase)}};
    if (wide) {
      row.push_back({std::to_string(move.ends.value)});
      row.push_back(OrDash(move.actor));
    }
    row.push_back(OrDash(CauseWords(move.cause)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table EventsTable(const runtime::HistoryPage& page, bool wide) {
  Table table{{{"AT"},
               {"SHARD", Align::kRight},
               {"FROM"},
               {"TO"},
               {"REASON"},
               {"TERM", Align::kRight},
               {"GAP", Align::kRight}},
              {}};
  if (!wide) table.columns.push_back({"ACTOR"});
  if (wide) {
    table.columns.push_back({"REVISION", Align::kRight});
    for (const char* title : {"DETECT", "ELECT", "ACTIVATE"}) {
      table.columns.push_back({title, Align::kRight});
    }
    table.columns.push_back({"ACTOR"});
    table.columns.push_back({"SEQ", Align::kRight});
  }
  table.columns.push_back({"CAUSE"});
  for (const auto& event : page.events) {
    const Transition& transition = event->transition;
    const bool change = !event->change.empty();
    std::vector<Cell> row{{Timestamp(event->at)},
                          OrDash(change ? "" : std::to_string(transition.shard.value)),
                          OrDash(transition.from),
                          OrDash(transition.to),
                          {change ? event->change : ToString(transition.reason)},
                          OrDash(change ? "" : std::to_string(transition.term.value)),
                          change ? OrDash("") : GapCell(*event)};
    if (!wide) row.push_back(OrDash(transition.actor));
    if (wide) {
      row.push_back({std::to_string(event->revision.value)});
      const runtime::GapPhases& gap = event->gap;
      row.push_back(
          OrDash(gap.detect_at_most ? "<=" + AgeWord(*gap.detect_at_most) : WordOf(gap.detect)));
      row.push_back(OrDash(WordOf(gap.elect)));
      row.push_back(OrDash(WordOf(gap.activate)));
      row.push_back(OrDash(transition.actor));
      row.push_back({std::to_string(event->seq)});
    }
    row.push_back(OrDash(CauseWords(transition.cause)));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string GapWord(const Transition& transition, const runtime::GapPhases& gap) {
  const auto most = runtime::GapAtMost(transition, gap);
  if (most) return (gap.detect_at_most ? "<=" : "") + AgeWord(*most);
  const auto measured = gap.Measured();
  if (!runtime::DetectionUnknown(transition, gap)) return "-";
  return measured ? "?+" + AgeWord(*measured) : "?";
}

std::string Unhealthy(const NodeStatus& status) {
  if (status.halted) return fmt::format("node {} halted: {}", status.node, status.halted->message);
  if (!status.ready) {
    return fmt::format("node {} is not ready: {}", status.node,
                       status.not_ready.empty() ? "no reason known" : status.not_ready);
  }
  std::string found;
  if (status.leaderless > 0) found = CountOf(status.leaderless, "shard") + " without a leader";
  if (status.waiting > 0) {
    found += fmt::format(" ({} wait, because theirs died{})", status.waiting,
                         runtime::AlsoBySettings(status));
  }
  if (status.waiting_by_settings > 0) {
    found += fmt::format(" ({} wait by the failover settings)", status.waiting_by_settings);
  }
  if (status.nobody_may_lead > 0) {
    const runtime::RulesNotKept rules = runtime::FindRulesNotKept(status);
    found += fmt::format(
        " ({} that no live node may lead, by {})", status.nobody_may_lead,
        runtime::RuleNames(status.placement, rules, &runtime::RuleGaps::nobody_may_lead));
  }
  const auto suspended =
      std::count_if(status.shards.begin(), status.shards.end(),
                    [](const ShardStatus& shard) { return shard.state == ShardState::kSuspended; });
  if (suspended > 0) {
    found += (found.empty() ? "" : ", ") + CountOf(static_cast<std::size_t>(suspended), "shard") +
             " suspended";
  }
  if (status.failing > 0) {
    found +=
        (found.empty() ? "" : ", ") + CountOf(status.failing, "shard") + " failing to activate";
  }
  if (status.untried > 0) {
    found += fmt::format("{}{} not tried yet, because others fail", found.empty() ? "" : ", ",
                         CountOf(status.untried, "shard"));
  }
  return found;
}

std::string FailingWords(const runtime::FailingActivation& failing) {
  return fmt::format("{} in {}, last error: {}", CountOf(failing.attempts, "attempt"),
                     AgeWord(failing.lasted), failing.last_error);
}

std::string FailingLine(const std::vector<NodeStatus>& statuses) {
  std::size_t count = 0;
  std::size_t untried = 0;
  const ShardStatus* worst = nullptr;
  for (const NodeStatus& status : statuses) {
    count += status.failing;
    untried += status.untried;
    if (status.worst_failing.empty()) continue;
    const ShardStatus& one = status.worst_failing.front();
    if (worst == nullptr || runtime::WorseFailing(one, *worst)) worst = &one;
  }
  if (worst == nullptr) return "";
  return fmt::format("{} to activate; {}{}shard {} on {}, {}",
                     count == 1 ? "1 shard fails" : CountOf(count, "shard") + " fail",
                     untried == 0 ? "" : fmt::format("{} more wait for their first try; ", untried),
                     count == 1 ? "" : "worst: ", worst->shard.value, worst->leader,
                     FailingWords(*worst->failing));
}

std::string StoppingLine(const std::vector<NodeStatus>& statuses) {
  constexpr std::size_t kMaxNamed = 5;
  std::size_t count = 0, named = 0;
  std::string longest;
  for (const NodeStatus& status : statuses) {
    count += status.stopping;
    if (status.longest_stopping.empty() || ++named > kMaxNamed) continue;
    const runtime::StoppingShard& one = status.longest_stopping.front();
    longest += fmt::format("{}shard {} on {} for {}", longest.empty() ? "" : ", ", one.shard.value,
                           status.node, AgeWord(one.lasted));
  }
  if (longest.empty()) return "";
  return fmt::format("{} given up, but callbacks have not returned; {}{}",
                     count == 1 ? "1 shard was" : CountOf(count, "shard") + " were",
                     count == 1 ? "" : "the longest of each node: ", longest);
}

std::size_t LiveNodes(const NodeStatus& status) {
  return static_cast<std::size_t>(
      std::count_if(status.members.begin(), status.members.end(),
                    [](const MemberStatus& member) { return member.fact.Live(); }));
}

std::string MemberWord(const MemberStatus& member) {
  if (!member.fact.Live()) return "gone";
  if (member.suspended > 0) return "suspended";
  if (member.fact.unhealthy) return "unhealthy";
  const bool leaving = member.Draining();
  if (!leaving && member.fact.failing) return "failing";
  if (!leaving) return ToString(member.fact.state);
  return member.led == 0 ? "drained" : "draining";
}

std::vector<std::string> GoneLines(const NodeStatus& status) {
  std::vector<std::string> lines;
  std::size_t more = 0;
  for (const DepartedMember& departed : status.departed) {
    if (departed.back) continue;
    if (lines.size() == kMaxGoneLines) {
      ++more;
      continue;
    }
    lines.push_back(fmt::format("{}, {}, led {}", departed.node, LeftWord(departed),
                                CountOf(departed.led, "shard")));
  }
  if (more > 0) lines.push_back(fmt::format("and {} more: see LEFT below", more));
  return lines;
}

std::string BalanceWord(const NodeStatus& status) {
  if (status.paused) return "paused";
  if (status.balancer.empty()) return "nobody balances";
  return status.rebalance_requested ? "applying a rebalance" : "running";
}

std::string AgeWord(std::chrono::nanoseconds age) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(age).count();
  char text[48];
  if (ms < 1000) {
    std::snprintf(text, sizeof text, "%lldms", static_cast<long long>(ms));
  } else if (ms < 60'000) {
    std::snprintf(text, sizeof text, "%lld.%llds", static_cast<long long>(ms / 1000),
                  static_cast<long long>(ms % 1000 / 100));
  } else {
    std::snprintf(text, sizeof text, "%lldm%llds", static_cast<long long>(ms / 60'000),
                  static_cast<long long>(ms % 60'000 / 1000));
  }
  return text;
}

}  // namespace baton::app
