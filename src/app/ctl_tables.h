// The tables of batonctl, from pictures of the group. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/table.h"
#include "runtime/control.h"
#include "runtime/history.h"

namespace baton::app {

Table ShardsTable(const runtime::NodeStatus& status, bool wide);
Table NodesTable(const runtime::NodeStatus& status, bool wide);
Table MovesTable(const std::vector<MoveFact>& moves, bool wide);

Table EventsTable(const runtime::HistoryPage& page, bool wide);
/// How long nobody led, all known phases together; "<=" before it where one is an upper bound. "-":
/// none is known.
std::string GapWord(const runtime::GapPhases& gap);

/// What is wrong with the group, one line; empty: nothing.
std::string Unhealthy(const runtime::NodeStatus& status);
/// Live members.
std::size_t LiveNodes(const runtime::NodeStatus& status);
/// A member's state as people see it: "active", "draining", "drained", "gone".
std::string MemberWord(const runtime::MemberStatus& member);
/// The balance in a word or two: "running", "paused", "applying a rebalance", "nobody balances".
std::string BalanceWord(const runtime::NodeStatus& status);
/// 12ms, 1.2s, 3m5s.
std::string AgeWord(std::chrono::nanoseconds age);
/// "1 shard", "2 shards".
std::string CountOf(std::size_t count, const std::string& thing);

}  // namespace baton::app
