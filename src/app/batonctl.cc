// batonctl: what operators see and do. One command line in, data on stdout, talk on stderr.
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>

#include "app/ctl_commands.h"
#include "app/ctl_interrupt.h"
#include "app/demo_commands.h"
#include "app/recover_command.h"

namespace {

// One line: what is wrong, and where to look.
std::string Complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining();
  const bool unknown_verb = app.get_subcommands().empty() && !rest.empty() && rest[0][0] != '-';
  const std::string what =
      unknown_verb ? "there is no verb \"" + rest[0] + "\"" : std::string(error.what());
  return "batonctl: " + what + "; see batonctl --help";
}

}  // namespace

int main(int argc, char** argv) {
  using baton::app::ExitCode;
  // Our own words say what went wrong.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  google::protobuf::SetLogHandler(nullptr);
  baton::app::Interrupt::Install();
  CLI::App app("Operates a Baton group through any of its nodes.", "batonctl");
  app.footer(
      "Exit codes: 0 done, 1 failed or unhealthy, 2 usage, 3 cannot reach, 4 not found,\n"
      "5 timed out, 6 precondition, 7 partly applied, 130 interrupted.");
  baton::app::Commands commands;
  baton::app::AddCommands(app, commands);
  baton::app::AddDemoCommands(app, commands);
  baton::app::AddRecoverCommand(app, commands);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help
    std::cerr << Complaint(app, error) << '\n';
    return static_cast<int>(ExitCode::kUsage);
  }
  return static_cast<int>(commands.run());
}
