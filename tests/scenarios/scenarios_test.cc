// Compares each golden scenario with what happens now. To accept a change of behaviour, run this
// test with --update and review the files' diff.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "scenarios/runner.h"

namespace baton::test {
namespace {

bool update = false;

std::string Read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> Names() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(SCENARIOS_DIR)) {
    if (entry.path().filename() == "CMakeLists.txt" || entry.path().extension() != ".txt") continue;
    names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class Scenarios : public ::testing::TestWithParam<std::string> {};

// Plan: run the file's commands, and expect exactly the traces in it.
TEST_P(Scenarios, HappenAsWritten) {
  const std::filesystem::path path = std::filesystem::path(SCENARIOS_DIR) / (GetParam() + ".txt");
  const std::string written = Read(path);
  const std::string happened = RunScenario(written);
  EXPECT_EQ(happened.find("error:"), std::string::npos) << happened;
  if (update) {
    std::ofstream(path) << happened;
  } else {
    EXPECT_EQ(happened, written);
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, Scenarios, ::testing::ValuesIn(Names()),
                         [](const auto& scenario) { return scenario.param; });

}  // namespace
}  // namespace baton::test

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  baton::test::update = argc > 1 && std::string(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
