// batond: one node as a process of its own. See --help.
#include <malloc.h>

#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "app/daemon.h"
#include "app/daemon_options.h"
#include "base/log.h"

namespace {

// glibc raises its thresholds with the largest block that was ever freed, and keeps what a few
// great answers needed for good: 49 MiB instead of 40 at 10,000 shards. Once set, they stay.
void GiveMemoryBack() { mallopt(M_TRIM_THRESHOLD, 128 * 1024); }

}  // namespace

int main(int argc, char** argv) {
  using namespace baton;
  GiveMemoryBack();
  const auto parsed = app::ParseDaemonOptions(std::vector<std::string>(argv + 1, argv + argc),
                                              app::Surroundings::Real());
  if (const auto* exit = std::get_if<app::EarlyExit>(&parsed)) {
    std::fputs(exit->text.c_str(), exit->code == 0 ? stdout : stderr);
    return exit->code;
  }
  const auto& options = std::get<app::DaemonOptions>(parsed);
  const int code = app::RunDaemon(options);
  log::ShutDownLog();
  return code;
}
