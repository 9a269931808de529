// replay_corpus FOLDER: runs the fuzzer's function on each file of a folder, without libFuzzer.
//
// Exit codes: 0 no violation (a violation aborts), 1 no files, 2 usage.
#include <cstdint>
#include <cstdio>

#include "fuzz/corpus_files.h"

extern "C" int LLVMFuzzerInitialize(int* count, char*** words);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: replay_corpus FOLDER\n", stderr);
    return 2;
  }
  LLVMFuzzerInitialize(&count, &words);
  const auto run = [](std::string_view bytes) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  };
  return baton::fuzz::ReplayFolder(words[1], run) == 0 ? 1 : 0;
}
