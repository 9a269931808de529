#include "app/daemon/grpc_polling.h"

#include <csignal>
#include <cstdlib>

#include <grpc/grpc.h>

namespace baton::app {

void KeepPollersApart() {
  constexpr const char* kStrategy = "GRPC_POLL_STRATEGY";
  if (std::getenv(kStrategy) != nullptr) return;
  // A channel that connects before it has a call is watched by no queue. gRPC looks after all
  // channels by itself, but only every 5 s, and a connection must stand within 500 ms. More often
  // would be worse: while gRPC reads a connection, what its queue's thread does with it may be left
  // to an executor that callers keep busy (etcd/grpc/completions.h). At 20 ms that was so after
  // 117 and 531 calls, at 100 ms for two of 2,300.
  constexpr const char* kOthers = "GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS";
  const bool others = std::getenv(kOthers) == nullptr;
  // By default gRPC 1.51 ignores its own bound of what it reads from a connection at once.
  constexpr const char* kExperiments = "GRPC_EXPERIMENTS";
  const bool experiments = std::getenv(kExperiments) == nullptr;
  if (experiments) setenv(kExperiments, "-tcp_read_chunks", 1);
  setenv(kStrategy, "poll", 1);
  if (others) setenv(kOthers, "100", 1);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // gRPC's threads take no signals
  grpc_init();  // reads these variables; never undone, so that gRPC does not read them again
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  unsetenv(kStrategy);  // programs that this one starts should not have them
  if (others) unsetenv(kOthers);
  if (experiments) unsetenv(kExperiments);
}

}  // namespace baton::app
