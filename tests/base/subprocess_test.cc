// How a program is found on PATH.
#include "base/subprocess.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace baton {
namespace {

TEST(FindProgram, FindsByNameAndByPath) {
  const auto shell = FindProgram("sh");
  ASSERT_TRUE(shell.ok()) << shell.error().message;
  EXPECT_TRUE(std::filesystem::is_regular_file(shell.value()));
  EXPECT_TRUE(FindProgram(shell.value()).ok());
}

// Plan: folders have the right to be searched, which is the same bit as that to be run. An empty
// name with a folder of PATH before it is such a folder.
TEST(FindProgram, TakesNoFolder) {
  for (const char* name : {"", "/usr/bin", "/usr/bin/", "../bin", "no-such-program"}) {
    const auto found = FindProgram(name);
    ASSERT_FALSE(found.ok()) << found.value();
    EXPECT_EQ(found.error().code, ErrorCode::kNotFound) << name;
  }
  EXPECT_EQ(FindProgram("/etc/passwd").error().message,
            "'/etc/passwd' is no program that can be run");
}

// Plan: the current folder has a program of somebody else, and PATH leads there: by an empty
// element, a dot, and a relative folder. A program of the user is found there, as a shell finds it,
// a helper of ours only in the absolute folder behind these.
TEST(FindHelper, IsNotFoundInTheCurrentFolder) {
  std::string folder = testing::TempDir() + "baton-helper-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::filesystem::create_directories(folder + "/here/sub");
  std::filesystem::create_directory(folder + "/good");
  const std::filesystem::path before = std::filesystem::current_path();
  const std::string path = std::getenv("PATH");
  std::filesystem::current_path(folder + "/here");
  for (const char* elements : {"", ".", "sub", "..:./sub:"}) {
    for (const char* file :
         {"baton-help", "sub/baton-help", "../baton-help", "../good/baton-help"}) {
      std::ofstream(file) << "#!/bin/sh\n";
      std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    }
    setenv("PATH", (std::string(elements) + ":" + folder + "/good").c_str(), 1);
    EXPECT_FALSE(FindProgram("baton-help").value().starts_with('/'));
    EXPECT_EQ(FindHelper("baton-help").value(), folder + "/good/baton-help");
    EXPECT_EQ(FindHelper("./baton-help").value(), "./baton-help");
    setenv("PATH", elements, 1);
    EXPECT_FALSE(FindHelper("baton-help").ok());
  }
  std::filesystem::current_path(before);
  setenv("PATH", path.c_str(), 1);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace baton
