#include "app/ctl/plan.h"

#include "app/ctl/input_file.h"
#include "app/ctl/output.h"
#include "app/ctl/plan_state.h"

namespace baton::app {

ExitCode PlanFile(const CtlOptions& options, const std::string& path) {
  const Result<std::string> text = ReadInputFile(path, kMaxPlanBytes);
  if (!text) return Fail(text.error());
  const Result<std::string> plan = PlanFromState(text.value());
  if (!plan) return Fail(plan.error());
  // The table formats show JSON too, because the answer is a document.
  if (options.structured()) {
    PrintStructured(options, plan.value());
  } else {
    PrintLine(plan.value());
  }
  return ExitCode::kDone;
}

}  // namespace baton::app
