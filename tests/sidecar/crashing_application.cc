// An application in a process of its own that crashes by SIGKILL as soon as it leads a shard, or
// earlier: MILLISECONDS after it was attached.
//
// crashing_application ADDRESS [MILLISECONDS]
//
// It exits with 3 if it can't attach, and with 4 if it led nothing within a minute.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "sidecar/application.h"

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("crashing_application: give the sidecar's address\n", stderr);
    return 2;
  }
  const auto minute = std::chrono::milliseconds(std::chrono::minutes(1));
  const auto life = argc > 2 ? std::chrono::milliseconds(std::atoi(argv[2])) : minute;
  baton::test::Application application({.address = argv[1]});
  if (application.AwaitToken().empty()) return 3;
  const auto leads = [](const baton::test::Application::Told& told) {
    return std::any_of(told.begin(), told.end(), [](const auto& shard) {
      return std::any_of(shard.second.begin(), shard.second.end(),
                         [](const auto& event) { return event.starts_with("acquired"); });
    });
  };
  if (!application.Await(leads, life) && life == minute) return 4;
  std::raise(SIGKILL);
}
