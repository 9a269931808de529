// batonctl's tables and words, made from a node's answers. Pure; any thread. The texts may contain
// any bytes. So print them with Render or with output.h, which escape control characters. `wide`
// adds columns.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/table.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::app {

Table ShardsTable(const runtime::NodeStatus& status, bool wide);
/// Adds the column STANDBYS if some shard has standbys, or asks for them and has none. REQUIRES
/// (not checked): `table` is the ShardsTable of this status.
void AddStandbys(const runtime::NodeStatus& status, Table* table);
/// Returns a line for each node that stands by for the shard: "n2 ready", "n3 not ready". If no
/// node stands by, returns one line "no node" if the shard's rule asks for standbys, and otherwise
/// nothing.
std::vector<std::string> StandbyLines(const runtime::ShardStatus& shard);
/// Says how many shards have no ready standby although their rule asks for standbys: "2 shards have
/// no ready standby". Empty if there is no such shard.
std::string WithoutReadyStandby(const runtime::NodeStatus& status);
/// Says how many shards are led by nodes that a placement rule forbids, and names these rules.
/// Empty if there is no such shard.
std::string LedAgainstRules(const runtime::NodeStatus& status);
/// A row for each member, and for each node in `status.departed` that is not back.
Table NodesTable(const runtime::NodeStatus& status, bool wide);
Table MovesTable(const std::vector<MoveFact>& moves, bool wide);

Table EventsTable(const runtime::HistoryPage& page, bool wide);
/// Returns a word for how long nobody led: the sum of the known phases of the gap, or "-" if no
/// phase is known. If it is not known how long a death went unnoticed, the word is one of these:
///  - "<=" and the sum of the phases, if there is a bound for that time;
///  - "?+" and the sum of the other phases, if there is no bound;
///  - "?", if there is neither a bound nor another phase.
std::string GapWord(const Transition& transition, const runtime::GapPhases& gap);

/// Says in one line what is wrong. Empty if the node and the group are healthy. If the node has
/// halted or is not ready, the line says only this. Otherwise it has these counts: shards without a
/// leader; suspended shards (only if the status has shards); shards of this node that fail to
/// activate, and those that wait for their first try.
std::string Unhealthy(const runtime::NodeStatus& status);
/// Returns one line about the shards that fail to activate. It says how many fail, how many wait
/// for their first try, and which shard is the worst. Empty if no shard fails. `statuses`: at most
/// one status of each node, because a status has only its own node's failing shards.
std::string FailingLine(const std::vector<runtime::NodeStatus>& statuses);
/// Returns one line about the shards that the nodes gave up and that are still stopping. It says
/// how many they are. For 5 nodes at most, it also names the shard of the node that has been
/// stopping the longest, and says for how long. Empty if no shard is stopping. `statuses`: as for
/// FailingLine.
std::string StoppingLine(const std::vector<runtime::NodeStatus>& statuses);
/// Says how a shard fails: "12 attempts in 3m5s, last error: ...".
std::string FailingWords(const runtime::FailingActivation& failing);
/// The number of live members.
std::size_t LiveNodes(const runtime::NodeStatus& status);
/// A member's state in one word. The first of these that is true: "gone" (not live), "suspended",
/// "unhealthy", "drained" (it leaves or is drained, and leads nothing), "draining", "failing",
/// "active".
std::string MemberWord(const runtime::MemberStatus& member);
/// Returns a line for each node in `status.departed` that is not back. It has the node's id, why
/// and when it left, and how many shards it led. If there are more than 5 of these nodes, a sixth
/// line says how many more there are.
std::vector<std::string> GoneLines(const runtime::NodeStatus& status);
/// Says what balance does. The first of these that is true: "paused", "nobody balances", "applying
/// a rebalance", "running".
std::string BalanceWord(const runtime::NodeStatus& status);
/// Returns a duration for people, rounded towards zero: 12ms, 1.2s, 3m5s, 90m0s. A negative
/// duration is always in ms.
std::string AgeWord(std::chrono::nanoseconds age);

}  // namespace baton::app
