#include "app/ctl/plan.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "app/ctl/output.h"
#include "app/ctl/plan_state.h"

namespace baton::app {
namespace {

Result<std::string> ReadAll(const std::string& path) {
  if (path == "-") {
    return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  }
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file) return Error{ErrorCode::kInvalidArgument, "cannot read " + path};
  return text;
}

}  // namespace

ExitCode PlanFile(const CtlOptions& options, const std::string& path) {
  const Result<std::string> text = ReadAll(path);
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
