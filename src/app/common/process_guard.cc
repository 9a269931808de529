#include "app/common/process_guard.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cstdlib>
#include <optional>

namespace baton::app {
namespace {

struct Guarded {
  std::optional<rlimit> core;
  std::vector<std::string> environment;
};

Guarded& State() {
  static Guarded guarded;
  return guarded;
}

}  // namespace

void GuardProcess(CoreDumps dumps, GrpcTraces traces) {
  Guarded& state = State();
  if (dumps == CoreDumps::kNone) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    rlimit limit{};
    if (getrlimit(RLIMIT_CORE, &limit) == 0) {
      state.core = limit;
      limit.rlim_cur = 0;
      setrlimit(RLIMIT_CORE, &limit);
    }
  }
  if (traces == GrpcTraces::kAllowed) return;
  for (const char* name : {"GRPC_TRACE", "GRPC_VERBOSITY"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    state.environment.push_back(std::string(name) + "=" + value);
    unsetenv(name);
  }
}

std::vector<std::string> GuardedEnvironment() { return State().environment; }

void RestoreCoreLimit(pid_t program) {
  if (State().core) prlimit(program, RLIMIT_CORE, &*State().core, nullptr);
}

}  // namespace baton::app
