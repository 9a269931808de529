#include "app/common/process_guard.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

namespace baton::app {
namespace {

constexpr rlim_t kMaxDescriptors = 32'768;

struct Guarded {
  std::optional<rlimit> core;   // before GuardProcess changed it
  std::optional<rlimit> files;  // before RaiseDescriptorLimit changed it
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

void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(limit.rlim_max, kMaxDescriptors);
  if (limit.rlim_cur >= wanted) return;
  const rlimit before = std::exchange(limit, {.rlim_cur = wanted, .rlim_max = limit.rlim_max});
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0) State().files = before;
}

std::vector<std::string> GuardedEnvironment() { return State().environment; }

void RestoreLimits(pid_t program) {
  if (State().core) prlimit(program, RLIMIT_CORE, &*State().core, nullptr);
  if (State().files) prlimit(program, RLIMIT_NOFILE, &*State().files, nullptr);
}

}  // namespace baton::app
