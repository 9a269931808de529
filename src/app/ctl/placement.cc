#include "app/ctl/placement.h"

#include <iostream>

#include "app/ctl/client.h"
#include "app/ctl/output.h"
#include "app/ctl/placement_file.h"
#include "app/ctl/placement_forecast.h"

namespace baton::app {
namespace {

TimePoint Deadline(const CtlOptions& options) {
  return BootClock::now() + options.timeout.value_or(kCallTimeout);
}

void PrintForecast(const CtlOptions& options, const PlacementForecast& forecast,
                   const Placement& placement) {
  PrintTable(options, RulesTable(forecast, placement));
  PrintLine("");
  PrintTable(options, NodesTable(forecast));
  PrintLine("");
  if (options.format == Format::kWide && !forecast.moves.empty()) {
    PrintTable(options, MovesTable(forecast));
    PrintLine("");
  }
  PrintLine(MoveWords(forecast));
}

}  // namespace

ExitCode ShowPlacement(const CtlOptions& options) {
  AdminClient client(options);
  const auto answer = client.GetStatus(false, Deadline(options));
  if (!answer) return Fail(answer.error());
  const Placement& placement = answer.value().status.placement;
  if (const Status sound = CheckPlacement(placement); !sound) {
    return Fail({ErrorCode::kInternal,
                 "the node's answer has rules that are not sound: " + sound.error().message});
  }
  // YAML also as a table, because the answer is a document.
  if (options.format == Format::kJson) {
    PrintStructured(options, PlacementJson(placement));
  } else {
    std::cout << PlacementYaml(placement);
  }
  return ExitCode::kDone;
}

ExitCode CheckPlacementFile(const CtlOptions& options, const std::string& path) {
  const Result<Placement> placement = ReadPlacementFile(path);
  if (!placement) return Fail(placement.error());
  AdminClient client(options);
  const auto answer = client.GetStatus(true, Deadline(options));
  if (!answer) return Fail(answer.error());
  if (answer->status.members.empty() && answer->status.view_age.count() == 0) {
    return Fail({ErrorCode::kUnavailable, "the node's view is not complete yet"});
  }
  const PlacementForecast forecast = Foresee(answer->status, *placement);
  if (options.structured()) {
    PrintStructured(options, ForecastJson(forecast, *placement));
  } else {
    PrintForecast(options, forecast, *placement);
  }
  for (const std::string& line : InfeasibleLines(forecast, *placement)) Say(line);
  for (const std::string& line : TooFewStandbyLines(forecast, *placement)) Say(line);
  for (const std::string& line : UnusedRuleLines(forecast, *placement)) Say(line);
  for (const std::string& line : UnknownLabelLines(forecast, *placement)) Say(line);
  if (const std::string waits = PauseWords(answer->status, forecast); !waits.empty()) Say(waits);
  return forecast.nobody_count == 0 ? ExitCode::kDone : ExitCode::kPrecondition;
}

}  // namespace baton::app
