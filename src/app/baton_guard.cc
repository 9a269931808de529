// baton-guard: ends a node's session in etcd at once when the node's process dies. See --help.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <google/protobuf/stubs/logging.h>
#include <CLI/CLI.hpp>

#include "app/common/etcd_settings.h"
#include "app/common/process_guard.h"
#include "app/guard/guard.h"
#include "base/escape.h"

namespace {

using namespace baton;

Result<EtcdOptions> ReadEtcdNow(const app::Settings& settings) {
  auto read = app::ReadEtcdOptions(settings);
  if (const auto* errors = std::get_if<std::vector<std::string>>(&read)) {
    return Error{ErrorCode::kInvalidArgument, errors->front()};
  }
  return std::get<EtcdOptions>(std::move(read));
}

int GuardForParent() {
  // Another program's descriptor 3 is no such page, or it is null.
  auto opened = runtime::ProgressPage::Open(STDERR_FILENO + 1);
  // The guard must not keep open what its starter has open: above all, its ports.
  close_range(STDERR_FILENO + 1, ~0U, 0);
  return app::GuardParent(STDIN_FILENO, opened ? std::move(opened).value() : nullptr);
}

int Complain(const std::string& what) {
  std::fputs(("baton-guard: " + OneLine(what, kLongestLine) + "\n").c_str(), stderr);
  return 2;
}

}  // namespace

// The log is written directly: its queue alone would take a fifth of the guard's memory.
int main(int argc, char** argv) {
  // It holds etcd's password as batond does.
  app::GuardProcess(app::CoreDumps::kNone, app::GrpcTraces::kNone);
  google::protobuf::SetLogHandler(nullptr);
  // The reader of its log may end, and its file may be full.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  CLI::App program(
      "Ends the session of a node in etcd at once when the node's process dies, so that others "
      "lead "
      "its shards after milliseconds instead of when its lease has run out. batond starts one for "
      "itself (--guard own). This is one for several nodes of one user, started with --guard "
      "shared.",
      "baton-guard");
  bool for_parent = false;
  bool trust = false;
  app::SharedGuard guard;
  app::Settings settings;
  program.add_flag("--for-parent", for_parent, "guard the node that started this, told on stdin");
  program
      .add_option("--state-dir", guard.state_dirs,
                  "a node's state directory; give one for each node")
      ->type_name("DIR");
  program.add_flag("--trust-state-lock", trust, "as batond's");
  app::AddEtcdFlags(program, settings);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.exit(error);  // --help
    return Complain(std::string(error.what()) + "; see baton-guard --help");
  }
  if (for_parent) return GuardForParent();
  if (guard.state_dirs.empty()) return Complain("give the --state-dir of each node");
  if (trust) guard.trust = runtime::LockTrust::kAnyFileSystem;
  guard.etcd = [&settings] { return ReadEtcdNow(settings); };
  if (const auto read = guard.etcd(); !read) return Complain(read.error().message);
  return app::GuardNodes(guard);
}
