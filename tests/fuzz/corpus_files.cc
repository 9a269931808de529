#include "fuzz/corpus_files.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

namespace baton::fuzz {

std::size_t ReplayFolder(const std::string& folder,
                         const std::function<void(std::string_view bytes)>& run) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  for (const auto& path : paths) {
    std::printf("%s\n", path.filename().c_str());
    std::fflush(stdout);
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    run(bytes);
  }
  std::printf("%zu files\n", paths.size());
  return paths.size();
}

}  // namespace baton::fuzz
