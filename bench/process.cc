#include "bench/process.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>

namespace baton::bench {

std::string LineOf(const std::string& path, const std::string& name) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(':');
    if (line.rfind(name, 0) != 0 || colon == std::string::npos) continue;
    const auto first = line.find_first_not_of(" \t", colon + 1);
    return first == std::string::npos ? "" : line.substr(first);
  }
  return "unknown";
}

// proc(5): utime and stime are fields 14 and 15; the name in parentheses, which may hold anything,
// is the second.
double CpuSeconds(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double ResidentMebibytes(pid_t pid) {
  const std::string line = LineOf("/proc/" + std::to_string(pid) + "/status", "VmRSS");
  return std::strtod(line.c_str(), nullptr) / 1024;
}

// proc(5): "1: -> FLOCK  ADVISORY  READ 4711 fe:00:10018944 0 EOF". The arrow means that it waits;
// the file is a device and an inode.
bool LockIsAwaited(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) return false;
  const std::string inode = ":" + std::to_string(file.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    if (line.find(" -> ") != std::string::npos && line.find(inode) != std::string::npos)
      return true;
  }
  return false;
}

}  // namespace baton::bench
