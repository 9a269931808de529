// How a program is found on PATH.
#include "base/subprocess.h"

#include <gtest/gtest.h>

#include <filesystem>

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

}  // namespace
}  // namespace baton
