// Lines, tables and JSON that `rebalance simulate` prints of a simulation.
//
// Pure functions; any thread. `placement` must be that of the simulated status (not checked).
#pragma once

#include <string>
#include <vector>

#include "app/ctl/simulation.h"
#include "app/ctl/table.h"
#include "base/placement.h"

namespace baton::app {

/// Returns two lines. The first one has the form "without zone=a: n1, n2; 4 nodes left". The second
/// one says how many shards would be claimed, and when.
std::vector<std::string> SummaryLines(const Simulation& simulation);
/// A line for each entry of `leaderless`.
std::vector<std::string> LeaderlessLines(const Simulation& simulation, const Placement& placement);
/// Says which node would claim which shards. Has a row for each node that claims; if `wide`, a row
/// for each shard that is claimed.
Table ClaimsTable(const Simulation& simulation, bool wide);
Table OutlookTable(const Simulation& simulation);
/// Says for each rule which kinds of nodes lead its shards, now and after the loss.
Table KeptTable(const Simulation& simulation, const Placement& placement);
/// Returns up to two lines for each rule. One line says how many of its shards would have fewer
/// standbys than the rule asks for. The other one says for how many shards two of the leader and
/// standbys would have the same value of the rule's `spread` label. A line whose count is 0 is left
/// out.
std::vector<std::string> StandbyLines(const Simulation& simulation, const Placement& placement);
/// One line: {"without":[…],"away":[…],"failover":…,"failover_delay_ms":…,"lock_delay_ms":…,
/// "claims":[…],"claims_by_ready_standbys":…,"moves":[…],"nodes":[…],"rules":[…],"without_rule":…,
/// "leaderless":…,"leaderless_shards":[…]}.
std::string SimulationJson(const Simulation& simulation, const Placement& placement);

}  // namespace baton::app
