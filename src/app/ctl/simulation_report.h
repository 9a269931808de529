// Prints a Simulation (simulation.h) for `rebalance simulate`: as lines, as tables and as JSON.
//
// Pure; any thread. REQUIRES (not checked): `placement` is that of the simulated status.
#pragma once

#include <string>
#include <vector>

#include "app/ctl/simulation.h"
#include "app/ctl/table.h"
#include "base/placement.h"

namespace baton::app {

/// Returns two lines. The first line names the lost nodes: "without zone=a: n1, n2; 4 nodes left".
/// The second line says how many shards would be claimed, and when.
std::vector<std::string> SummaryLines(const Simulation& simulation);
/// Returns a line for each entry of Simulation::leaderless.
std::vector<std::string> LeaderlessLines(const Simulation& simulation, const Placement& placement);
/// Says which node would claim which shards. Has a row for each node that claims. If `wide`, has a
/// row for each claimed shard instead.
Table ClaimsTable(const Simulation& simulation, bool wide);
/// Has a row for each entry of Simulation::nodes.
Table OutlookTable(const Simulation& simulation);
/// Says how many shards of each rule are led by which kind of node, now and after the loss.
Table KeptTable(const Simulation& simulation, const Placement& placement);
/// Returns up to two lines for each rule. A line whose count is 0 is left out. The lines say:
///  - for how many shards there would be fewer standbys than the rule asks for;
///  - for how many shards two of its nodes would have the same value of the rule's `spread` label.
///    The nodes of a shard are its leader and its standbys.
std::vector<std::string> StandbyLines(const Simulation& simulation, const Placement& placement);
/// One line: {"without":[…],"away":[…],"failover":…,"failover_delay_ms":…,"lock_delay_ms":…,
/// "claims":[…],"claims_by_ready_standbys":…,"moves":[…],"nodes":[…],"rules":[…],"without_rule":…,
/// "leaderless":…,"leaderless_shards":[…]}.
std::string SimulationJson(const Simulation& simulation, const Placement& placement);

}  // namespace baton::app
