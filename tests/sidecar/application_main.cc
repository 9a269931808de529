// An application in a process of its own, which tests kill. It attaches to the sidecar at its first
// argument, or at BATON_ATTACH, again and again, answers everything, and runs until it is killed.
//
// sidecar_application ADDRESS [VISITS]
//
// Before that it makes VISITS visits: it leaves as soon as it is attached, and comes back on
// another connection. It exits with 3 if it is refused then.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "sidecar/application.h"

int main(int argc, char** argv) {
  const char* const address = argc > 1 ? argv[1] : std::getenv("BATON_ATTACH");
  if (address == nullptr) {
    std::fputs("sidecar_application: give the sidecar's address\n", stderr);
    return 2;
  }
  int visits = argc > 2 ? std::atoi(argv[2]) : 0;
  std::string token;
  while (true) {
    baton::test::Application application({.address = address, .token = token});
    token = application.AwaitToken();
    if (visits > 0) {
      if (token.empty()) return 3;
      --visits;
      continue;
    }
    while (!application.AwaitEnd()) {
    }
  }
}
