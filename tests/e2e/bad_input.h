// What the tests of BadInput share: one batond under strain, and sockets without a client library.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/cluster.h"
#include "e2e/http2.h"

namespace baton::e2e {

// So many that the start alone logs more lines than a pipe of one page holds.
inline constexpr int kShards = 60;

// Far above what a batond of so few shards uses (about 30 MiB), and far below what a leak would
// use.
inline constexpr std::uint64_t kMaxGrowth = 64ull << 20;

/// Resident memory in bytes.
inline std::uint64_t Resident(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::uint64_t whole = 0, resident = 0;
  file >> whole >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

/// A connected socket to 127.0.0.1:port that is closed with this object.
class Socket {
 public:
  explicit Socket(std::uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(socket_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0;
  }
  ~Socket() { close(socket_); }
  Socket(Socket&& other) noexcept
      : socket_(std::exchange(other.socket_, -1)), connected_(other.connected_) {}
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool connected() const { return connected_; }
  int descriptor() const { return socket_; }
  bool Send(const std::string& bytes) const {
    return send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  /// From now on Send gives up if the other side reads nothing for this time.
  void LimitSend(std::chrono::seconds patience) const {
    const timeval limit{.tv_sec = patience.count(), .tv_usec = 0};
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  }
  /// The other side has sent something.
  bool Heard() const {
    char byte = 0;
    return recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
  }
  /// What the other side has sent since the last call.
  std::string Take() const {
    std::string taken;
    char bytes[4096];
    for (ssize_t count; (count = recv(socket_, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;) {
      taken.append(bytes, static_cast<std::size_t>(count));
    }
    return taken;
  }
  /// The other side has closed it, with or without an answer.
  bool Refused() const {
    Take();
    return Closed();
  }
  /// The other side has closed it and sent nothing.
  bool Closed() const {
    char byte = 0;
    const ssize_t count = recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
  }

 private:
  int socket_;
  bool connected_ = false;
};

/// A connection of another user of this host. REQUIRES: this process is root's.
inline Socket ConnectAs(uid_t user, std::uint16_t port) {
  std::optional<Socket> socket;
  // The user id that new sockets get belongs to the thread.
  std::thread([&] {
    setfsuid(user);
    socket.emplace(port);
  }).join();
  return *std::move(socket);
}

inline std::uint16_t PortOf(const std::string& endpoint) {
  return static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
}

/// One node that leads all shards, under strain.
class BadInput : public testing::Test {
 protected:
  void Begin(const std::vector<std::string>& flags = {}) {
    node_ = &cluster_.Start("n1", flags);
    Settle();
  }
  /// Starts batond by a shell script that must exec "$@", which is batond with its flags.
  void BeginUnder(const std::string& shell, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> line = {"-c", shell, "bash", BATOND};
    const std::vector<std::string> usual = cluster_.Flags("n1");
    line.insert(line.end(), usual.begin(), usual.end());
    line.insert(line.end(), flags.begin(), flags.end());
    node_ = &cluster_.LaunchProgram("n1", "/bin/bash", line);
    cluster_.WaitReady(*node_);
    Settle();
  }

  /// Starts batond with a log pipe that is full because nobody reads it. Returns the end to read
  /// from, or -1 if there is no such pipe.
  int BeginBeforeAStillReader() {
    if (mkfifo(LogPipe().c_str(), 0600) != 0) return -1;
    const int still = open(LogPipe().c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (still < 0 || fcntl(still, F_SETPIPE_SZ, 4096) < 0) return -1;
    BeginUnder("exec 2>" + LogPipe() + "; exec \"$@\"", {"--log-level", "trace"});
    return still;
  }
  std::string LogPipe() const { return cluster_.folder() + "/log.pipe"; }

  double Renewals() const {
    return cluster_.Metric("n1", "baton_lease_renewals_total{result=\"confirmed\"}");
  }
  /// Waits for some more renewals and checks that nothing was lost: the same terms and the same
  /// process, no suspension.
  void ExpectUndisturbed() {
    const double first = Renewals();
    cluster_.Await("renewals go on", [&] { return Renewals() >= first + 3; });
    const Table after = cluster_.AwaitBalanced({"n1"});
    EXPECT_THAT(Moved(before_, after), testing::IsEmpty());
    EXPECT_THAT(Retermed(before_, after), testing::IsEmpty());
    EXPECT_EQ(cluster_.Metric("n1", "baton_transitions_total{reason=\"suspended\"}"), 0);
    EXPECT_TRUE(node_->running());
  }
  void ExpectBoundedMemory() {
    EXPECT_LT(Resident(node_->pid()), resident_ + kMaxGrowth) << "was " << resident_;
  }
  Cluster cluster_{SharedEtcd(), {.shards = kShards, .ttl = std::chrono::seconds(3)}};
  NodeProcess* node_ = nullptr;

 private:
  void Settle() {
    before_ = cluster_.AwaitBalanced({"n1"});
    resident_ = Resident(node_->pid());
  }

  Table before_;
  std::uint64_t resident_ = 0;
};

}  // namespace baton::e2e
