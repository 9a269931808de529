// batonctl: the operators' command line. Data goes to stdout, messages to stderr.
#include <fcntl.h>
#include <unistd.h>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>

#include "app/common/did_you_mean.h"
#include "app/ctl/commands.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/recover_command.h"
#include "app/demo/commands.h"
#include "base/escape.h"

namespace {

using baton::app::ExitCode;

// The end of the parser's words about --wait=3.
constexpr std::string_view kFlagWithValue = " was given a disallowed flag override";

// The last verb that the parser knew, or the program itself.
const CLI::App& LastVerb(const CLI::App& app) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  return chosen.empty() ? app : LastVerb(*chosen.front());
}

// "batonctl group set"
std::string CommandOf(const CLI::App& verb) {
  const CLI::App* const parent = verb.get_parent();
  return parent == nullptr ? verb.get_name() : CommandOf(*parent) + " " + verb.get_name();
}

std::vector<std::string> VerbsAfter(const CLI::App& app) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands(/*filter=*/{})) verbs.push_back(verb->get_name());
  return verbs;
}

std::string UnknownVerb(const CLI::App& after, const std::string& word) {
  const std::vector<std::string> known = VerbsAfter(after);
  return fmt::format("there is no verb \"{}{}\"{}",
                     after.get_parent() == nullptr ? "" : after.get_name() + " ", word,
                     baton::app::DidYouMean(word, known));
}

std::string UnknownFlag(const CLI::App& verb, const std::string& word) {
  std::vector<std::string> known;
  for (const CLI::App* app = &verb; app != nullptr; app = app->get_parent()) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
  }
  const std::string name = word.substr(0, word.find('='));
  return "unknown flag " + name + baton::app::DidYouMean(name, known);
}

// A usage error in one line.
std::string Complaint(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> rest = app.remaining(/*recurse=*/true);
  const CLI::App& verb = LastVerb(app);
  std::string what = baton::app::PlainUsageError(error.what());
  if (!rest.empty() && rest.front().starts_with('-')) {
    what = UnknownFlag(verb, rest.front());
  } else if (!rest.empty() && verb.get_require_subcommand_min() > 0) {
    what = UnknownVerb(verb, rest.front());
  } else if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError) &&
             !rest.empty()) {
    what = fmt::format("unexpected argument \"{}\"", rest.front());
  } else if (what.ends_with(kFlagWithValue)) {
    what = "--" + what.substr(0, what.size() - kFlagWithValue.size()) + " takes no value";
  } else if (error.get_name() == "RequiredError" && verb.get_require_subcommand_min() > 0) {
    what = verb.get_parent() == nullptr ? "no verb is given"
                                        : fmt::format("\"{}\" needs one of {}", verb.get_name(),
                                                      fmt::join(VerbsAfter(verb), ", "));
  }
  what = baton::OneLine(what, baton::kLongestLine);
  return fmt::format("batonctl: {}{} {} --help", what, what.ends_with('?') ? " See" : "; see",
                     CommandOf(verb));
}

// A standard stream that is closed must not become a pipe or a connection of ours. It is at its end
// for reads, and refuses writes.
void FillClosedStreams() {
  int descriptor = 0;
  do {
    descriptor = open("/dev/null", O_RDONLY);
  } while (descriptor >= 0 && descriptor <= STDERR_FILENO);
  if (descriptor >= 0) close(descriptor);
}

// The exit code of the process. If nobody reads the output any more, that is no fault to speak of.
int Finish(int exit) {
  std::cout.flush();
  if (std::cout.good() || baton::app::Interrupt::Happened()) return exit;
  std::cerr << "batonctl: cannot write to stdout: the output is not complete\n";
  return exit == 0 ? static_cast<int>(ExitCode::kFailed) : exit;
}

}  // namespace

int main(int argc, char** argv) {
  FillClosedStreams();
  // batonctl's own messages say what went wrong.
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
    if (error.get_exit_code() == 0) return Finish(app.exit(error));  // --help
    std::cerr << Complaint(app, error) << '\n';
    return static_cast<int>(ExitCode::kUsage);
  }
  return Finish(static_cast<int>(commands.run()));
}
