// The file or stdin that a verb reads, and its bound.
#include "app/ctl/input_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace baton::app {
namespace {

constexpr std::size_t kMiB = 1 << 20;

// A file that is gone with this object.
class ZeroFile {
 public:
  explicit ZeroFile(off_t bytes) { EXPECT_EQ(ftruncate(fileno(file_), bytes), 0); }
  ~ZeroFile() { std::fclose(file_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fileno(file_)); }

 private:
  std::FILE* const file_ = std::tmpfile();
};

std::string ReadingSays(const std::string& path) {
  const Result<std::string> read = ReadInputFile(path, kMiB);
  if (read.ok()) return "read " + std::to_string(read.value().size());
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  return read.error().message;
}

// Plan: files around the bound, and one without an end.
TEST(InputFile, IsReadUpToItsBound) {
  EXPECT_EQ(ReadingSays(ZeroFile(kMiB).path()), "read 1048576");
  EXPECT_THAT(ReadingSays(ZeroFile(kMiB + 1).path()), testing::EndsWith("it is larger than 1 MiB"));
  EXPECT_EQ(ReadingSays("/dev/zero"), "can't read /dev/zero: it is larger than 1 MiB");
}

TEST(InputFile, AFolderIsNoFile) {
  EXPECT_EQ(ReadingSays("/proc/self"), "can't read /proc/self: Is a directory");
}

}  // namespace
}  // namespace baton::app
