// libFuzzer's entry point. BATON_FUZZ_TARGET names the target, so that one program has them all.
//
// Built and started by tests/fuzz/run.
#include <cstdio>
#include <cstdlib>

#include <google/protobuf/stubs/logging.h>

#include "base/log.h"
#include "fuzz/target.h"

namespace {

const baton::fuzz::Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("BATON_FUZZ_TARGET");
  chosen = baton::fuzz::FindTarget(name == nullptr ? "" : name);
  if (chosen == nullptr) {
    std::fputs("fuzz: BATON_FUZZ_TARGET names no target; see tests/fuzz/README.md\n", stderr);
    std::exit(2);
  }
  google::protobuf::SetLogHandler(nullptr);
  baton::log::ConfigureLog({.level = baton::log::Level::kError, .format = {}});
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  chosen->run({reinterpret_cast<const char*>(data), size});
  return 0;
}
