#include "app/ctl/simulate.h"

#include "app/ctl/client.h"
#include "app/ctl/output.h"
#include "app/ctl/simulation.h"
#include "app/ctl/simulation_report.h"

namespace baton::app {
namespace {

void PrintSimulation(const CtlOptions& options, const Simulation& simulation,
                     const Placement& placement) {
  const bool wide = options.format == Format::kWide;
  for (const std::string& line : SummaryLines(simulation)) PrintLine(line);
  const auto print = [&](const Table& table) {
    if (table.rows.empty()) return;
    PrintLine("");
    PrintTable(options, table);
  };
  print(ClaimsTable(simulation, wide));
  print(OutlookTable(simulation));
  print(KeptTable(simulation, placement));
  PrintLine("");
  for (const std::string& line : StandbyLines(simulation, placement)) PrintLine(line);
  if (wide && !simulation.forecast.moves.empty()) {
    PrintTable(options, MovesTable(simulation.forecast));
    PrintLine("");
  }
  PrintLine("then " + MoveWords(simulation.forecast));
}

}  // namespace

ExitCode SimulateLoss(const CtlOptions& options, const std::vector<LabelTerm>& without) {
  AdminClient client(options);
  const auto answer =
      client.GetStatus(true, BootClock::now() + options.timeout.value_or(kCallTimeout));
  if (!answer) return Fail(answer.error());
  const Placement& placement = answer->status.placement;
  if (answer->status.members.empty()) {
    return Fail({ErrorCode::kUnavailable, "the node's view is not complete yet"});
  }
  if (const Status sound = CheckPlacement(placement); !sound) {
    return Fail({ErrorCode::kInternal,
                 "the node's answer has rules that are not sound: " + sound.error().message});
  }
  const Result<Simulation> simulation = Simulate(answer->status, without);
  if (!simulation) return Fail(simulation.error());
  if (options.structured()) {
    PrintStructured(options, SimulationJson(*simulation, placement));
  } else {
    PrintSimulation(options, *simulation, placement);
  }
  for (const std::string& line : LeaderlessLines(*simulation, placement)) Say(line);
  const std::string waits = PauseWords(answer->status, simulation->forecast);
  if (!waits.empty()) Say(waits);
  return simulation->leaderless_count == 0 ? ExitCode::kDone : ExitCode::kPrecondition;
}

}  // namespace baton::app
