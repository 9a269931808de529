// fuzz_replay TARGET FOLDER...: runs a target's function on no bytes, as libFuzzer does first, and
// on each file of some folders, without libFuzzer. fuzz_replay --list: the targets' names.
// fuzz_replay --make-corpus FOLDER: writes all seeds to FOLDER/TARGET/NAME unless they are there
// already.
//
// Exit codes: 0 all held (else it aborts), 1 no files, 2 usage.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>

#include <google/protobuf/stubs/logging.h>

#include "base/log.h"
#include "fuzz/corpus_files.h"
#include "fuzz/target.h"

namespace {

using baton::fuzz::Seed;
using baton::fuzz::Target;

int List() {
  for (const Target& target : baton::fuzz::Targets()) std::puts(target.name);
  return 0;
}

int MakeCorpus(const std::string& folder) {
  for (const Target& target : baton::fuzz::Targets()) {
    const std::string place = folder + "/" + target.name;
    std::filesystem::create_directories(place);
    for (const Seed& seed : target.seeds()) {
      baton::fuzz::WriteFile(place + "/" + seed.name, seed.bytes);
    }
  }
  return 0;
}

int Usage() {
  std::fputs("usage: fuzz_replay TARGET FOLDER... | --list | --make-corpus FOLDER\n", stderr);
  return 2;
}

}  // namespace

int main(int count, char** words) {
  if (count == 2 && std::strcmp(words[1], "--list") == 0) return List();
  if (count < 3) return Usage();
  if (std::strcmp(words[1], "--make-corpus") == 0) return MakeCorpus(words[2]);
  const Target* const target = baton::fuzz::FindTarget(words[1]);
  if (target == nullptr) return Usage();
  google::protobuf::SetLogHandler(nullptr);
  baton::log::ConfigureLog({.level = baton::log::Level::kError, .format = {}});
  target->run({});
  std::size_t files = 0;
  for (int i = 2; i < count; ++i) files += baton::fuzz::ReplayFolder(words[i], target->run);
  return files == 0 ? 1 : 0;
}
