// The real batonctl, as a test runs it against a server.
#pragma once

#include <string>
#include <vector>

#include "app/ctl_process.h"
#include "runtime/admin_server.h"

namespace baton::app {

inline RunOptions Ctl(const std::string& endpoint, const std::vector<std::string>& words) {
  RunOptions options;
  options.arguments = {BATONCTL, "--endpoint", endpoint};
  options.arguments.insert(options.arguments.end(), words.begin(), words.end());
  return options;
}

inline Ran Batonctl(const runtime::AdminServer& server, const std::vector<std::string>& words) {
  return RunProcess(Ctl(server.endpoint, words));
}

}  // namespace baton::app
