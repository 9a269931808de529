// batonctl's tables and words, made from a node's answers. Pure; any thread. The texts may contain
// any bytes: print them with Render or output.h, which escape control characters. `wide` adds
// columns.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/table.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::app {

Table ShardsTable(const runtime::NodeStatus& status, bool wide);
/// Adds the column STANDBYS, if a shard has standbys or lacks a ready one. REQUIRES: `table` is the
/// ShardsTable of this status.
void AddStandbys(const runtime::NodeStatus& status, Table* table);
/// A line for each node that stands by for the shard: "n2 ready", "n3 not ready". One line "no
/// node", if the shard's rule asks for standbys and no node stands by. Otherwise empty.
std::vector<std::string> StandbyLines(const runtime::ShardStatus& shard);
/// How many shards have no ready standby although their rule asks for standbys, in words: "2 shards
/// have no ready standby". Empty: there is no such shard.
std::string WithoutReadyStandby(const runtime::NodeStatus& status);
/// How many shards are led by nodes that a placement rule forbids, and by which rules, in words.
/// Empty: there is no such shard.
std::string LedAgainstRules(const runtime::NodeStatus& status);
/// The members, and the nodes in `status.departed` that are not back.
Table NodesTable(const runtime::NodeStatus& status, bool wide);
Table MovesTable(const std::vector<MoveFact>& moves, bool wide);

Table EventsTable(const runtime::HistoryPage& page, bool wide);
/// How long nobody led, as a word: the sum of the known phases of the gap; "-" if no phase is
/// known. If it is not known how long a death went unnoticed, the word is one of these:
///  - "<=" and the sum of the phases, if there is a bound for that time;
///  - "?+" and the sum of the other phases, if there is no bound;
///  - "?", if there is neither a bound nor another phase.
std::string GapWord(const Transition& transition, const runtime::GapPhases& gap);

/// Says in one line what is wrong; empty if the node and the group are healthy. If the node has
/// halted or is not ready, the line says only this. Otherwise it counts what is wrong: shards
/// without a leader; suspended shards, if the status has shards; shards of this node that fail to
/// activate or wait for their first try.
std::string Unhealthy(const runtime::NodeStatus& status);
/// One line about the shards that fail to activate: how many, how many wait for their first try,
/// and the worst one. Empty if no shard fails. `statuses`: at most one of each node, because a
/// status has only its own node's failing shards.
std::string FailingLine(const std::vector<runtime::NodeStatus>& statuses);
/// One line about the shards that the nodes gave up, and that are still stopping: how many; and for
/// 5 nodes at most, which of the node's shards has been stopping the longest, and for how long.
/// Empty if there are none. `statuses` as for FailingLine.
std::string StoppingLine(const std::vector<runtime::NodeStatus>& statuses);
/// How a shard fails, in words: "12 attempts in 3m5s, last error: ...".
std::string FailingWords(const runtime::FailingActivation& failing);
/// The number of live members.
std::size_t LiveNodes(const runtime::NodeStatus& status);
/// A member's state in one word. The first of these that is true: "gone" (not live), "suspended",
/// "unhealthy", "drained" (it leaves or is drained, and leads nothing), "draining", "failing",
/// "active".
std::string MemberWord(const runtime::MemberStatus& member);
/// A line for each node in `status.departed` that is not back: who, why, when, and how many shards
/// it led. If there are more than 5, a sixth line says how many more.
std::vector<std::string> GoneLines(const runtime::NodeStatus& status);
/// The balance in words. The first of these that is true: "paused", "nobody balances", "applying a
/// rebalance", "running".
std::string BalanceWord(const runtime::NodeStatus& status);
/// A duration for people, rounded down: 12ms, 1.2s, 3m5s, 90m0s. A negative one: always in ms.
std::string AgeWord(std::chrono::nanoseconds age);

}  // namespace baton::app
