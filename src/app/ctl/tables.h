// Makes batonctl's tables and texts from a node's answers. Pure; any thread. The results may
// contain any bytes. So print them with Render or with output.h, which escape control characters.
// `wide` adds columns.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/table.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::app {

/// Has a row for each entry of `status.shards`.
Table ShardsTable(const runtime::NodeStatus& status, bool wide);
/// Adds the column STANDBYS if StandbyLines has a line for some shard. REQUIRES (not checked):
/// `table` is the ShardsTable of this status.
void AddStandbys(const runtime::NodeStatus& status, Table* table);
/// Returns a line for each node that stands by for the shard: "n2 ready", "n3 not ready". If no
/// node stands by, the shard's rule decides. If the rule asks for standbys, the result is the line
/// "no node". Otherwise the result is empty.
std::vector<std::string> StandbyLines(const runtime::ShardStatus& shard);
/// Returns a line for each way in which placement rules are not kept. The line says for how many
/// shards, and names the rules: "2 shards have no ready standby, by rule 1 (zone=a)". Leaves out
/// shards that no live node may lead (Unhealthy has these), and shards whose standbys are fewer
/// only because some are not ready.
std::vector<std::string> PlacementLines(const runtime::NodeStatus& status);
/// Has a row for each member, and a row for each node in `status.departed` that is not back.
Table NodesTable(const runtime::NodeStatus& status, bool wide);
Table MovesTable(const std::vector<MoveFact>& moves, bool wide);

Table EventsTable(const runtime::HistoryPage& page, bool wide);
/// Says how long nobody led the shard: the sum of the gap's known phases. "-": no phase is known.
/// After a death, the node may not know how long the death went unnoticed. Then the result is:
///  - "<=" and the sum, if there is a bound for that time. The sum includes the bound.
///  - "?+" and the sum of the other phases, if there is no bound.
///  - "?", if there is neither a bound nor another phase.
std::string GapWord(const Transition& transition, const runtime::GapPhases& gap);

/// Says in one line what is wrong. Empty: the node and the group are healthy. If the node has
/// halted or is not ready, the line says only this. Otherwise the line has these counts:
///  - shards without a leader, and why some of them wait;
///  - suspended shards, if the status has shards;
///  - shards of this node that fail to activate, and those that wait for their first try.
std::string Unhealthy(const runtime::NodeStatus& status);
/// Returns one line about the shards that fail to activate. The line says how many fail, how many
/// wait for their first try, and which shard is the worst. Empty: no shard fails. REQUIRES (not
/// checked): each node has at most one entry in `statuses`.
std::string FailingLine(const std::vector<runtime::NodeStatus>& statuses);
/// Returns one line about the shards that nodes have given up while their callbacks still run. The
/// line says how many they are. For the first 5 nodes with such shards, the line also names the
/// shard that has been stopping the longest, and says for how long. Empty: no shard is stopping.
/// REQUIRES (not checked): as for FailingLine.
std::string StoppingLine(const std::vector<runtime::NodeStatus>& statuses);
/// Says how a shard fails: "12 attempts in 3m5s, last error: ...".
std::string FailingWords(const runtime::FailingActivation& failing);
/// Returns the number of live members.
std::size_t LiveNodes(const runtime::NodeStatus& status);
/// Returns a member's state in one word. It is the first of these that is true: "gone" (not live),
/// "suspended", "unhealthy", "drained" (it leaves or is drained, and leads nothing), "draining",
/// "failing", "active".
std::string MemberWord(const runtime::MemberStatus& member);
/// Returns a line for each node in `status.departed` that is not back. The line has the node's id,
/// why and when the node left, and how many shards it led. There are at most 5 of these lines. If
/// more nodes left, a sixth line says how many more.
std::vector<std::string> GoneLines(const runtime::NodeStatus& status);
/// Says what balance does. The result is the first of these that is true: "paused", "nobody
/// balances", "applying a rebalance", "running".
std::string BalanceWord(const runtime::NodeStatus& status);
/// Returns a duration for people, rounded towards zero: 12ms, 1.2s, 3m5s, 90m0s. A negative
/// duration is always in ms.
std::string AgeWord(std::chrono::nanoseconds age);

}  // namespace baton::app
