// batonctl's tables, made from a node's answers. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/table.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::app {

Table ShardsTable(const runtime::NodeStatus& status, bool wide);
Table NodesTable(const runtime::NodeStatus& status, bool wide);
Table MovesTable(const std::vector<MoveFact>& moves, bool wide);

Table EventsTable(const runtime::HistoryPage& page, bool wide);
/// How long nobody led: the sum of all known phases, or "-" if none is known. After a death, "<="
/// stands before it if the time until that was noticed is known by a bound, and "?+" if it is not.
std::string GapWord(const Transition& transition, const runtime::GapPhases& gap);

/// What is wrong with the group, in one line; empty if it is healthy.
std::string Unhealthy(const runtime::NodeStatus& status);
/// One line about the shards that several nodes fail to activate; empty if none does. `statuses`:
/// one of each node.
std::string FailingLine(const std::vector<runtime::NodeStatus>& statuses);
/// How a shard fails, in words: "12 attempts in 3m5s, last error: ...".
std::string FailingWords(const runtime::FailingActivation& failing);
/// The number of live members.
std::size_t LiveNodes(const runtime::NodeStatus& status);
/// A member's state in one word: "active", "suspended", "draining", "drained", "gone".
std::string MemberWord(const runtime::MemberStatus& member);
/// A line for each of the last members that left and are not back: who, why, when; at most 5.
std::vector<std::string> GoneLines(const runtime::NodeStatus& status);
/// The balance in a word or two: "running", "paused", "applying a rebalance", "nobody balances".
std::string BalanceWord(const runtime::NodeStatus& status);
/// A duration for people: 12ms, 1.2s, 3m5s.
std::string AgeWord(std::chrono::nanoseconds age);
/// A number with its noun: "1 shard", "2 shards".
std::string CountOf(std::size_t count, const std::string& thing);

}  // namespace baton::app
