// replay_corpus FOLDER: runs the fuzzer's function on each file of a folder, without libFuzzer.
//
// Exit codes: 0 no violation (one aborts), 1 no files, 2 usage.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int* count, char*** words);
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void Replay(const std::filesystem::path& path) {
  std::printf("%s\n", path.filename().c_str());  // before it may abort
  std::fflush(stdout);
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const std::vector<std::uint8_t> data(bytes.begin(), bytes.end());
  LLVMFuzzerTestOneInput(data.data(), data.size());
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: replay_corpus FOLDER\n", stderr);
    return 2;
  }
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(words[1])) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  LLVMFuzzerInitialize(&count, &words);
  for (const auto& path : paths) Replay(path);
  std::printf("%zu files\n", paths.size());
  return paths.empty() ? 1 : 0;
}
