// ReloadedFiles: new content is handed over once; wrong content changes nothing and is logged
// once.
#include "app/common/reloaded_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace baton::app {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ReloadedFilesTest : public testing::Test {
 protected:
  ReloadedFilesTest() {
    std::string name = testing::TempDir() + "reloaded-files-XXXXXX";
    folder_ = mkdtemp(name.data());
    Write("password", "one\n");
    Write("cert", "cert 1");
    Write("key", "key 1");
  }
  ~ReloadedFilesTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(Path(name)) << content;
  }
  ReloadedFiles Files() const {
    return ReloadedFiles(
        "the files",
        {{Path("password"), "one"}, {"", ""}, {Path("cert"), "cert 1\n"}, {Path("key"), "key 1"}});
  }
  /// Looks once, and returns what it logged.
  std::string Look(ReloadedFiles& files) {
    testing::internal::CaptureStderr();
    files.Look([this](const std::vector<std::string>& contents) -> Status {
      const std::string pair = contents[2].substr(5) + contents[3].substr(4);
      if (pair[0] != pair[1]) return Error{ErrorCode::kInvalidArgument, "they do not fit"};
      used_.push_back(contents[0] + " " + pair);
      return Ok();
    });
    return testing::internal::GetCapturedStderr();
  }
  /// Puts the files into place as kubelet does it with a Secret: links through the link `..data`,
  /// which one rename turns to a new folder. Then it removes the folder before.
  void Mount(const std::string& folder, const std::map<std::string, std::string>& files) const {
    namespace fs = std::filesystem;
    std::error_code none_yet;
    const fs::path before = fs::read_symlink(Path("..data"), none_yet);
    fs::create_directory(Path(folder));
    for (const auto& [name, content] : files) {
      Write(folder + "/" + name, content);
      if (!before.empty()) continue;
      fs::remove(Path(name));
      fs::create_symlink("..data/" + name, Path(name));
    }
    fs::create_symlink(folder, Path("..data_tmp"));
    fs::rename(Path("..data_tmp"), Path("..data"));
    if (!before.empty()) fs::remove_all(Path(before));
  }
  static std::size_t Lines(const std::string& log) {
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n'));
  }

  std::string folder_;
  std::vector<std::string> used_;
};

// Plan: nothing new, then a new password, then nothing new again.
TEST_F(ReloadedFilesTest, HandsOverWhatIsNewOnce) {
  ReloadedFiles files = Files();
  EXPECT_EQ(Look(files), "");
  EXPECT_THAT(used_, IsEmpty());
  Write("password", "two\r\n");
  EXPECT_EQ(Lines(Look(files)), 1u);
  EXPECT_EQ(Look(files), "");
  EXPECT_THAT(used_, ElementsAre("two 11"));
}

// Plan: the key comes first, and the certificate before the next look: nothing is logged.
TEST_F(ReloadedFilesTest, WaitsForTheOtherHalfOfAPair) {
  ReloadedFiles files = Files();
  Write("key", "key 2");
  EXPECT_EQ(Look(files), "");
  Write("cert", "cert 2");
  EXPECT_EQ(Lines(Look(files)), 1u);
  EXPECT_THAT(used_, ElementsAre("one 22"));
}

// Plan: the files are those of a Secret in a pod. The Secret changes, then stays, then gets a key
// of another certificate, and then the right one. Each look sees the whole of one Secret.
TEST_F(ReloadedFilesTest, FollowsTheLinkThatKubeletTurns) {
  Mount("..2026_1", {{"password", "one\n"}, {"cert", "cert 1"}, {"key", "key 1"}});
  ReloadedFiles files = Files();
  EXPECT_EQ(Look(files), "");
  Mount("..2026_2", {{"password", "two\n"}, {"cert", "cert 2"}, {"key", "key 2"}});
  EXPECT_EQ(Lines(Look(files)), 1u);
  EXPECT_EQ(Look(files), "");
  Mount("..2026_3", {{"password", "two\n"}, {"cert", "cert 3"}, {"key", "key 2"}});
  std::string log;
  for (int i = 0; i < 3; ++i) log += Look(files);
  EXPECT_EQ(Lines(log), 1u) << log;
  EXPECT_THAT(log, testing::HasSubstr("they do not fit"));
  Mount("..2026_4", {{"password", "two\n"}, {"cert", "cert 3"}, {"key", "key 3"}});
  EXPECT_EQ(Lines(Look(files)), 1u);
  EXPECT_THAT(used_, ElementsAre("two 22", "two 33"));
}

// Plan: a pair that stays incomplete is logged at the second look, and never again. Then the file
// is gone, which is another trouble. Then all is well, and the next trouble is logged again.
TEST_F(ReloadedFilesTest, SaysEachTroubleOnce) {
  ReloadedFiles files = Files();
  Write("key", "key 2");
  std::string log;
  for (int i = 0; i < 5; ++i) log += Look(files);
  EXPECT_EQ(Lines(log), 1u) << log;
  EXPECT_THAT(log, testing::HasSubstr("they do not fit"));
  std::filesystem::remove(Path("key"));
  log.clear();
  for (int i = 0; i < 5; ++i) log += Look(files);
  EXPECT_EQ(Lines(log), 1u) << log;
  EXPECT_THAT(log, testing::HasSubstr("can't read " + Path("key") + ": No such file"));
  Write("key", "key 1");
  EXPECT_EQ(Look(files), "") << "as it was at the start";
  Write("password", "\n");
  log.clear();
  for (int i = 0; i < 5; ++i) log += Look(files);
  EXPECT_EQ(Lines(log), 1u) << log;
  EXPECT_THAT(log, testing::HasSubstr(Path("password") + " is empty"));
  EXPECT_THAT(used_, IsEmpty());
}

}  // namespace
}  // namespace baton::app
