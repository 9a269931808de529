// batond: one node as a process of its own. See --help.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "app/common/process_guard.h"
#include "app/daemon/daemon.h"
#include "app/daemon/daemon_options.h"
#include "app/daemon/first_process.h"
#include "app/daemon/grpc_polling.h"
#include "app/daemon/guard_choice.h"
#include "app/daemon/library_logs.h"
#include "base/log.h"

namespace {

// glibc raises its thresholds with the largest block that was ever freed, and then keeps the memory
// that a few large answers needed. Once set, they stay. Blocks of 64 KiB and more have pages of
// their own, which go back when the block is freed: after a failover of 10,000 shards, a node needs
// 46 MiB instead of 52.
void GiveMemoryBack() {
  mallopt(M_TRIM_THRESHOLD, 128 * 1024);
  mallopt(M_MMAP_THRESHOLD, 64 * 1024);
}

// If stderr is closed, the next file that is opened takes its number and would get the log: a
// socket, or a library's eventfd. Libraries open theirs before main, so this runs before them.
void KeepStandardStreams(int, char**, char**) {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDWR);  // takes the lowest free number
  }
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const first)(int, char**,
                                                                  char**) = KeepStandardStreams;

}  // namespace

int main(int argc, char** argv) {
  using namespace baton;
  GiveMemoryBack();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  const auto parsed = app::ParseDaemonOptions(arguments, app::Surroundings::Real());
  if (const auto* exit = std::get_if<app::EarlyExit>(&parsed)) {
    std::fputs(exit->text.c_str(), exit->code == 0 ? stdout : stderr);
    return exit->code;
  }
  const auto& options = std::get<app::DaemonOptions>(parsed);
  app::GuardProcess(
      options.core_dumps ? app::CoreDumps::kAllowed : app::CoreDumps::kNone,
      options.log.level == log::Level::kTrace ? app::GrpcTraces::kAllowed : app::GrpcTraces::kNone);
  if (getpid() == 1 && app::HasOwnGuard(options)) {
    if (const auto code = app::RunNodeAsChild(arguments)) return *code;
  }
  app::RaiseDescriptorLimit();
  app::TakeLibraryLogs();
  if (!options.relay) app::KeepPollersApart();
  const int code = app::RunDaemon(options);
  log::ShutDownLog();
  return code;
}
