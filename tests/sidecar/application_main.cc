// An application as a process of its own, to be killed: attaches to the sidecar at its only
// argument, or at BATON_ATTACH, again and again, answers everything, and runs until it is ended.
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
  std::string token;
  while (true) {
    baton::test::Application application({.address = address, .token = token});
    token = application.AwaitToken();
    while (!application.AwaitEnd()) {
    }
  }
}
