#include "e2e/guards.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace baton::e2e {
namespace {

constexpr int kWaitForEndMs = 1000;

}  // namespace

std::optional<RunningProcess> FindProcess(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  const std::size_t open = line.find('(');
  const std::size_t close = line.rfind(')');
  return RunningProcess{.name = line.substr(open + 1, close - open - 1),
                        .parent = static_cast<pid_t>(std::stol(line.substr(close + 4))),
                        .zombie = line.substr(close + 2, 1) == "Z"};
}

std::vector<pid_t> AllProcesses() {
  std::vector<pid_t> all;
  std::error_code failed;
  for (const auto& each : std::filesystem::directory_iterator("/proc", failed)) {
    const std::string name = each.path().filename();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    all.push_back(static_cast<pid_t>(std::stol(name)));
  }
  return all;
}

std::optional<pid_t> GuardOf(pid_t node) {
  for (const pid_t pid : AllProcesses()) {
    const auto found = FindProcess(pid);
    if (found && found->parent == node && found->name == "baton-guard" && !found->zombie) {
      return pid;
    }
  }
  return std::nullopt;
}

std::optional<std::size_t> SocketsOf(pid_t pid) {
  std::error_code failed;
  std::size_t sockets = 0;
  const std::filesystem::directory_iterator all("/proc/" + std::to_string(pid) + "/fd", failed);
  if (failed) return std::nullopt;
  for (const auto& each : all) {
    const std::string what = std::filesystem::read_symlink(each.path(), failed).string();
    sockets += what.starts_with("socket:") ? 1 : 0;
  }
  return sockets;
}

// A line of /proc/locks: "2: -> FLOCK  ADVISORY  READ 28344 fe:00:9977911 0 EOF". The arrow marks
// those that wait.
bool WaitsForALock(pid_t pid) {
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, arrow, kind, manner, access;
    pid_t owner = 0;
    words >> number >> arrow >> kind >> manner >> access >> owner;
    if (arrow == "->" && owner == pid) return true;
  }
  return false;
}

void LeftGuards::Note(pid_t node) {
  const auto guard = GuardOf(node);
  if (!guard) return;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, *guard, 0));
  if (handle >= 0) handles_.push_back(handle);
}

LeftGuards::~LeftGuards() {
  for (const int handle : handles_) {
    pollfd ended{handle, POLLIN, 0};
    if (poll(&ended, 1, kWaitForEndMs) == 0) {
      syscall(SYS_pidfd_send_signal, handle, SIGKILL, nullptr, 0);
    }
    close(handle);
  }
}

}  // namespace baton::e2e
