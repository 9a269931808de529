// What a process of batond's own user gets of batond's memory, which has etcd's password and key.
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kUser = 61'234;

struct Gained {
  bool memory = false;   ///< it could open /proc/PID/mem
  bool control = false;  ///< it could attach, as a debugger does
};

/// Tries to get at a process as this user. PTRACE_SEIZE asks the kernel for the same right as
/// PTRACE_ATTACH, and stops nothing.
Gained TryAsUser(pid_t process) {
  constexpr int kMemory = 1;
  constexpr int kControl = 2;
  constexpr int kOtherwise = 4;
  const std::string memory = "/proc/" + std::to_string(process) + "/mem";
  const pid_t child = fork();
  if (child == 0) {
    // System calls alone: other threads of this process may have held locks when it was copied.
    if (syscall(SYS_setgroups, 0, nullptr) != 0 ||
        syscall(SYS_setresgid, kUser, kUser, kUser) != 0 ||
        syscall(SYS_setresuid, kUser, kUser, kUser) != 0) {
      _exit(kOtherwise);
    }
    int gained = open(memory.c_str(), O_RDONLY | O_CLOEXEC) >= 0 ? kMemory : 0;
    if (ptrace(PTRACE_SEIZE, process, nullptr, nullptr) == 0) gained |= kControl;
    _exit(gained);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) < kOtherwise) << status;
  return {.memory = (WEXITSTATUS(status) & kMemory) != 0,
          .control = (WEXITSTATUS(status) & kControl) != 0};
}

/// Whether the kernel lets users debug their own processes at all.
bool UsersMayDebug() {
  std::ifstream scope("/proc/sys/kernel/yama/ptrace_scope");
  std::string word;
  return !(scope >> word) || word == "0";
}

class OwnUser : public testing::Test {
 protected:
  ~OwnUser() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can run batond as another user";
    if (TheWorld() != World::kPlain) GTEST_SKIP() << "that user can't read this world's secrets";
    // The build folder may be in somebody's home.
    fs::copy_file(BATOND, folder_ + "/batond");
    for (const char* each : {"", "/batond"}) fs::permissions(folder_ + each, fs::perms(0755));
    ASSERT_EQ(chown(cluster_.folder().c_str(), kUser, kUser), 0);
  }

  NodeProcess& Start(const std::string& id, const std::vector<std::string>& more = {}) {
    const std::string user = std::to_string(kUser);
    std::vector<std::string> line = {
        "--reuid",        user,          "--regid", user,
        "--clear-groups", "--pdeathsig", "KILL",    folder_ + "/batond"};
    for (const auto& flags : {cluster_.Flags(id), kNoGuard, more}) {
      line.insert(line.end(), flags.begin(), flags.end());
    }
    NodeProcess& node = cluster_.LaunchProgram(id, "setpriv", line);
    cluster_.WaitReady(node);
    return node;
  }

  const std::string folder_ = FreshFolder();
  Cluster cluster_{SharedEtcd(), {.shards = 4}};
};

// Plan: batond runs as an unprivileged user, once with --core-dumps, which takes its guard off, and
// once as usual. Another process of this user can read and debug the first one, and not the second.
TEST_F(OwnUser, NeitherReadsNorDebugsBatond) {
  const Gained open = TryAsUser(Start("n1", {"--core-dumps"}).pid());
  const Gained guarded = TryAsUser(Start("n2").pid());
  EXPECT_FALSE(guarded.memory);
  EXPECT_FALSE(guarded.control);
  EXPECT_EQ(open.memory, UsersMayDebug());
  EXPECT_EQ(open.control, UsersMayDebug());
  EXPECT_TRUE(cluster_.node("n2").running());
}

}  // namespace
}  // namespace baton::e2e
