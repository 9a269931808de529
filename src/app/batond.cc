// batond: one node as a process of its own. See --help.
#include <cstdio>
#include <string>
#include <variant>
#include <vector>

#include "app/daemon.h"
#include "app/daemon_options.h"
#include "base/log.h"

int main(int argc, char** argv) {
  using namespace baton;
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
