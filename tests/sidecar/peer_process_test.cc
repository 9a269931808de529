// The process at the other end of a unix socket, on a kernel that can't make a pidfd for it: only a
// child is known.
#include "sidecar/peer_process.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

namespace baton::sidecar {
namespace {

class PeerOfSocket : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    name_.sun_family = AF_UNIX;
    const std::string path = folder_ + "/socket";
    std::memcpy(name_.sun_path, path.c_str(), path.size() + 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&name_), sizeof(name_)), 0);
    ASSERT_EQ(listen(listener_, 4), 0);
  }
  void TearDown() override {
    End();
    close(listener_);
    unlink(name_.sun_path);
    rmdir(folder_.c_str());
  }

  int Connect() const {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return connect(fd, reinterpret_cast<const sockaddr*>(&name_), sizeof(name_)) == 0 ? fd : -1;
  }
  // Forks a child that connects if told to, and stays.
  void Fork(bool connects) {
    child_ = fork();
    if (child_ != 0) return;
    if (connects) Connect();
    while (true) pause();
  }
  // Ends the child without reaping it.
  void Kill() const {
    kill(child_, SIGKILL);
    siginfo_t how{};
    waitid(P_PID, static_cast<id_t>(child_), &how, WEXITED | WNOWAIT);
  }
  void End() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = -1;
  }
  int Accept() const { return accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); }

  std::string folder_ = "/tmp/baton-peer-XXXXXX";
  sockaddr_un name_{};
  int listener_ = -1;
  pid_t child_ = -1;
};

// Plan: the child connects. The PeerProcess made from its connection proves its end. A connection
// that is accepted after that gets none.
TEST_F(PeerOfSocket, IsTheChildThatConnectedAndProvesItsEnd) {
  Fork(true);
  const auto child = PeerProcess::OfChild(child_);
  ASSERT_NE(child, nullptr);
  const int fd = Accept();
  const auto peer = PeerProcess::OfSocket(fd, *child);
  ASSERT_NE(peer, nullptr);
  EXPECT_NE(peer->pidfd(), child->pidfd());  // each can be watched separately
  EXPECT_EQ(peer->pid(), child_);
  EXPECT_TRUE(peer->Is(*child));
  EXPECT_FALSE(peer->ProvenDead());
  Kill();
  EXPECT_TRUE(peer->ProvenDead());
  EXPECT_EQ(PeerProcess::OfSocket(fd, *child), nullptr);
  close(fd);
}

TEST_F(PeerOfSocket, IsNobodyWhereAnotherConnected) {
  Fork(false);
  const auto child = PeerProcess::OfChild(child_);
  ASSERT_NE(child, nullptr);
  const int ours = Connect();
  const int fd = Accept();
  EXPECT_EQ(PeerProcess::OfSocket(fd, *child), nullptr);
  close(fd);
  close(ours);
}

}  // namespace
}  // namespace baton::sidecar
