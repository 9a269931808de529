// Lines, tables and JSON that `rebalance simulate` prints of a simulation.
//
// Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/simulation.h"
#include "app/ctl/table.h"
#include "base/placement.h"

namespace baton::app {

/// Two lines: "without zone=a: n1, n2; 4 nodes left"; and how many shards would be claimed, and
/// when.
std::vector<std::string> SummaryLines(const Simulation& simulation);
/// A line for each entry of `leaderless`.
std::vector<std::string> LeaderlessLines(const Simulation& simulation, const Placement& placement);
/// Says which node would claim which shards; one row for each node, or, `wide`, for each shard.
Table ClaimsTable(const Simulation& simulation, bool wide);
Table OutlookTable(const Simulation& simulation);
/// By whom each rule's shards are led, now and then.
Table KeptTable(const Simulation& simulation, const Placement& placement);
/// A line for each rule some of whose shards would have fewer standbys than it asks for, or a
/// leader and standbys that share a value of its `spread` label. A rule that holds has no line.
std::vector<std::string> StandbyLines(const Simulation& simulation, const Placement& placement);
/// One line: {"without":[…],"away":[…],"failover":…,"failover_delay_ms":…,"lock_delay_ms":…,
/// "claims":[…],"claims_by_ready_standbys":…,"moves":[…],"nodes":[…],"rules":[…],"without_rule":…,
/// "leaderless":…,"leaderless_shards":[…]}.
std::string SimulationJson(const Simulation& simulation, const Placement& placement);

}  // namespace baton::app
