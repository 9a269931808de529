// The file of what operators asked for.
#include "app/daemon/audit_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

namespace baton::app {
namespace {

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
  std::unique_ptr<AuditFile> Open() const {
    auto file = AuditFile::Open(path_, "orders", "n1");
    EXPECT_TRUE(file.ok()) << file.error().message;
    return file.ok() ? std::move(file).value() : nullptr;
  }
  std::string Content() const {
    std::ifstream in(path_);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  const std::string folder_ = NewFolder();
  const std::string path_ = folder_ + "/audit.jsonl";
  const runtime::AskedChange drain_{.caller = {.peer = "ipv4:127.0.0.1:5", .user = 1000},
                                    .verb = "DrainNode",
                                    .target = "node n3",
                                    .claimed = "alice@laptop",
                                    .dry_run = false};
};

TEST_F(AuditFileTest, HasALineForEachEntry) {
  {
    const auto file = Open();
    ASSERT_NE(file, nullptr);
    file->Write({.change = drain_, .result = AuditEntry::Result::kDone});
    file->Write({.change = drain_, .result = AuditEntry::Result::kFailed, .error = "no such node"});
    file->Write({.change = drain_, .result = AuditEntry::Result::kRefused, .not_logged = 7});
  }
  const std::string same =
      R"("group":"orders","node":"n1","verb":"DrainNode","target":"node n3","dry_run":false,)"
      R"("by":"uid 1000","claimed":"alice@laptop","peer":"ipv4:127.0.0.1:5",)";
  EXPECT_THAT(Content(), HasSubstr(same + R"("result":"done","error":"","not_logged":0})"
                                          "\n"));
  EXPECT_THAT(Content(), HasSubstr(same + R"("result":"failed","error":"no such node",)"));
  EXPECT_THAT(Content(), HasSubstr(same + R"("result":"refused","error":"","not_logged":7})"
                                          "\n"));
  struct stat found {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
}

TEST_F(AuditFileTest, FollowsNoLink) {
  std::ofstream(folder_ + "/target") << "mine";
  std::filesystem::create_symlink(folder_ + "/target", path_);
  const auto file = AuditFile::Open(path_, "orders", "n1");
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
