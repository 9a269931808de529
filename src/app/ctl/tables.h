// batonctl's tables and words, made from a node's answers. Pure. Texts may hold any bytes that the
// group's keys hold: print them with Render or output.h, which escape them.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/table.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::app {

Table ShardsTable(const runtime::NodeStatus& status, bool wide);
/// The members, and those who left and are not back.
Table NodesTable(const runtime::NodeStatus& status, bool wide);
Table MovesTable(const std::vector<MoveFact>& moves, bool wide);

Table EventsTable(const runtime::HistoryPage& page, bool wide);
/// How long nobody led: the sum of all known phases, or "-" if none is known. After a death, "<="
/// stands before it if the time until that was noticed is known by a bound, and "?+" if it is not;
/// "?" alone if nothing is known.
std::string GapWord(const Transition& transition, const runtime::GapPhases& gap);

/// What is wrong with the node or the group, in one line; empty if both are healthy. Suspended
/// shards count only if the status has shards.
std::string Unhealthy(const runtime::NodeStatus& status);
/// One line about the shards that fail to activate on these nodes: how many, and the worst one;
/// empty if none fails. `statuses`: one of each node.
std::string FailingLine(const std::vector<runtime::NodeStatus>& statuses);
/// How a shard fails, in words: "12 attempts in 3m5s, last error: ...".
std::string FailingWords(const runtime::FailingActivation& failing);
/// The number of live members.
std::size_t LiveNodes(const runtime::NodeStatus& status);
/// A member's state in one word: "active", "suspended", "unhealthy", "failing", "draining",
/// "drained" or "gone".
std::string MemberWord(const runtime::MemberStatus& member);
/// A line for each of the last members that left and are not back: who, why, when. After 5 of them
/// a last line says how many more there are.
std::vector<std::string> GoneLines(const runtime::NodeStatus& status);
/// The balance in a word or two: "running", "paused", "applying a rebalance", "nobody balances".
std::string BalanceWord(const runtime::NodeStatus& status);
/// A duration for people, rounded down: 12ms, 1.2s, 3m5s, 90m0s.
std::string AgeWord(std::chrono::nanoseconds age);
/// A number with its noun: "1 shard", "2 shards".
std::string CountOf(std::size_t count, const std::string& thing);

}  // namespace baton::app
