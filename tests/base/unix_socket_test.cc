// Sockets that only their owner can open, and files that killed processes left behind.
#include "base/unix_socket.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace baton {
namespace {

class UnixSocket : public testing::Test {
 protected:
  ~UnixSocket() override { std::filesystem::remove_all(folder_); }

  static std::string NewFolder() {
    std::string folder = testing::TempDir() + "socketXXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    return folder;
  }
  const std::string folder_ = NewFolder();
  const std::string path_ = folder_ + "/s";
};

TEST_F(UnixSocket, IsForItsOwnerAlone) {
  const Result<int> bound = BindUnixSocket(path_);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  struct stat found {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  close(*bound);
}

// Plan: a socket is bound and closed, so its file stays; the next one takes its place. While that
// one listens, nobody else gets the path.
TEST_F(UnixSocket, ReplacesAFileThatNobodyListensOn) {
  const Result<int> left = BindUnixSocket(path_);
  ASSERT_TRUE(left.ok());
  close(*left);
  ASSERT_TRUE(std::filesystem::exists(path_));
  const Result<int> bound = BindUnixSocket(path_);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  ASSERT_EQ(listen(*bound, 1), 0);
  const Result<int> second = BindUnixSocket(path_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message, "another process listens there; give another path");
  close(*bound);
}

// Plan: somebody listens, and this process has no descriptor left to find out. The file stays.
TEST_F(UnixSocket, LeavesAFileAloneThatItCannotJudge) {
  if (BATON_SANITIZED) GTEST_SKIP() << "a sanitizer needs descriptors itself";
  const Result<int> bound = BindUnixSocket(path_);
  ASSERT_TRUE(bound.ok());
  ASSERT_EQ(listen(*bound, 1), 0);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Result<int> second = BindUnixSocket(path_);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().message, "Too many open files");
  EXPECT_TRUE(std::filesystem::exists(path_));
  close(*bound);
}

TEST_F(UnixSocket, LeavesOtherFilesAlone) {
  std::ofstream(path_) << "mine";
  const Result<int> bound = BindUnixSocket(path_);
  ASSERT_FALSE(bound.ok());
  EXPECT_EQ(bound.error().message, "Address already in use");
  EXPECT_TRUE(std::filesystem::is_regular_file(path_));
  EXPECT_EQ(BindUnixSocket(folder_ + "/missing/s").error().message, "No such file or directory");
}

}  // namespace
}  // namespace baton
