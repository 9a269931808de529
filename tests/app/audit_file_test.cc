// The file of what operators asked for.
#include "app/daemon/audit_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace baton::app {
namespace {

using access::Refused;
using runtime::AuditEntry;
using testing::HasSubstr;

class AuditFileTest : public testing::Test {
 protected:
  ~AuditFileTest() override { std::filesystem::remove_all(folder_); }

  static std::string NewFolder() {
    std::string folder = testing::TempDir() + "auditXXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    return folder;
  }
  AuditFileOptions Options(bool required = false) const {
    return {.path = path_, .group = "orders", .node = "n1", .required = required};
  }
  std::unique_ptr<AuditFile> Open(bool required = false) const {
    auto file = AuditFile::Open(Options(required));
    EXPECT_TRUE(file.ok()) << file.error().message;
    return file.ok() ? std::move(file).value() : nullptr;
  }
  std::string Content() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string folder_ = NewFolder();
  const std::string path_ = folder_ + "/audit.jsonl";
  const runtime::RequestedChange drain_{.id = 3,
                                        .caller = {.peer = "ipv4:127.0.0.1:5", .user = 1000},
                                        .verb = "DrainNode",
                                        .target = "node n3",
                                        .claimed = "alice@laptop",
                                        .dry_run = false};
};

// Plan: a change, from both ends, and a refusal of each kind.
TEST_F(AuditFileTest, HasALineForEachEntry) {
  const access::Caller stranger{.peer = "ipv4:127.0.0.1:6", .user = 1001};
  {
    const auto file = Open();
    ASSERT_NE(file, nullptr);
    file->Write({.change = drain_, .result = AuditEntry::Result::kDone});
    file->Write({.change = drain_, .result = AuditEntry::Result::kFailed, .error = "no such node"});
    file->Write({.change = drain_, .result = AuditEntry::Result::kRefused});
    file->Refused(stranger, "/v1/sta\ntus", {.why = Refused::Why::kRole, .line = "it may not"});
  }
  const std::string same =
      R"("group":"orders","node":"n1","id":3,"verb":"DrainNode","target":"node n3",)"
      R"("dry_run":false,"by":"uid 1000","claimed":"alice@laptop","peer":"ipv4:127.0.0.1:5",)";
  EXPECT_THAT(Content(), HasSubstr(same + R"("result":"done","error":"","not_logged":0})"
                                          "\n"));
  EXPECT_THAT(Content(), HasSubstr(same + R"("result":"failed","error":"no such node",)"));
  EXPECT_THAT(Content(), HasSubstr(same + R"("result":"refused","error":"","not_logged":0})"
                                          "\n"));
  EXPECT_THAT(Content(), HasSubstr(R"("id":0,"verb":"/v1/sta\\ntus","target":"","dry_run":false,)"
                                   R"("by":"uid 1001","claimed":"","peer":"ipv4:127.0.0.1:6",)"
                                   R"("result":"refused","error":"it may not","not_logged":0})"))
      << Content();
  struct stat found {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

// Plan: one caller is refused a thousand times, another one once.
TEST_F(AuditFileTest, WhoIsRefusedAllTheTimeHidesNobody) {
  {
    const auto file = Open();
    ASSERT_NE(file, nullptr);
    for (int i = 0; i < 1000; ++i) {
      file->Refused({.peer = "x", .user = 7}, "GetStatus", {.line = "no"});
    }
    file->Refused({.peer = "x", .user = 8}, "Attach", {.line = "no"});
  }
  const std::string text = Content();
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 500);
  EXPECT_THAT(text, HasSubstr(R"("by":"uid 8")"));
}

// Plan: with and without a line before each change. Then a folder is at the path, so nothing can be
// written.
TEST_F(AuditFileTest, IfRequiredEachChangeWaitsForItsLine) {
  EXPECT_FALSE(Open()->Sinks().write_before);
  const auto file = Open(true);
  ASSERT_NE(file, nullptr);
  const runtime::Audit audit(file->Sinks());
  const auto ask = [&] {
    std::promise<Status> asked;
    audit.Ask(drain_, [&](const Status& written) { asked.set_value(written); });
    return asked.get_future().get();
  };
  EXPECT_TRUE(ask());
  EXPECT_THAT(Content(), HasSubstr(R"("id":3,)"));
  EXPECT_THAT(Content(), HasSubstr(R"("result":"asked","error":"","not_logged":0})"));
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  const Status refused = ask();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(refused.error().message,
            "no change is made without its line in the audit file (--audit-required): can't write "
            "--audit-file " +
                path_ + ": Is a directory");
  std::filesystem::remove(path_);
  EXPECT_TRUE(ask()) << "it is opened again";
}

// Plan: the file is a pipe that nobody reads, so a write stands still once the pipe is full. The
// changes that wait then are refused at the end, and later ones at once. The object's end waits for
// no disk. When the pipe is read, the thread ends, too.
TEST_F(AuditFileTest, ADiskThatStandsStillHoldsUpNoEnd) {
  constexpr int kCount = 100;  // more than the pipe holds
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  const int reader = open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(fcntl(reader, F_SETPIPE_SZ, 4096), 0);
  auto file = Open(true);
  ASSERT_NE(file, nullptr);
  const runtime::Audit audit(file->Sinks());
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Status> answers;  // guarded by mutex
  const auto ask = [&] {
    audit.Ask(drain_, [&](const Status& written) {
      const std::lock_guard lock(mutex);
      answers.push_back(written);
      changed.notify_all();
    });
  };
  for (int i = 0; i < kCount; ++i) ask();
  file->EndWaits();
  ask();
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return answers.size() == kCount + 1; });
  }
  const auto refused = std::count_if(answers.begin(), answers.end(),
                                     [](const Status& answer) { return !answer.ok(); });
  EXPECT_GT(refused, 1);
  ASSERT_FALSE(answers.back());
  EXPECT_EQ(answers.back().error().message,
            "no change is made without its line in the audit file (--audit-required): the node is "
            "stopping");
  testing::internal::CaptureStderr();
  file.reset();
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("because its disk stands still"));
  ASSERT_EQ(fcntl(reader, F_SETFL, 0), 0);
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(reader, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  close(reader);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), kCount + 2 - refused)
      << "of those that were refused at most the one that stood still has a line";
}

TEST_F(AuditFileTest, FollowsNoLink) {
  std::ofstream(folder_ + "/target") << "mine";
  std::filesystem::create_symlink(folder_ + "/target", path_);
  const auto file = AuditFile::Open(Options());
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().message,
            "can't write --audit-file " + path_ + ": it is a symbolic link, which is not followed");
}

// Plan: a folder is at the path, so nothing can be written.
TEST_F(AuditFileTest, SaysOnceThatItCantBeWritten) {
  testing::internal::CaptureStderr();
  {
    const auto file = Open();
    ASSERT_NE(file, nullptr);
    std::filesystem::remove(path_);
    std::filesystem::create_directory(path_);
    for (int i = 0; i < 3; ++i) {
      file->Write({.change = drain_, .result = AuditEntry::Result::kDone});
    }
  }
  const std::string logged = testing::internal::GetCapturedStderr();
  EXPECT_THAT(logged, HasSubstr("can't write --audit-file " + path_ + ": Is a directory"));
  EXPECT_EQ(logged.find("can't write"), logged.rfind("can't write"));
}

}  // namespace
}  // namespace baton::app
