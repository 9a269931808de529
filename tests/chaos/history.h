// History: what a process saw, as JSON lines that outlive it.
//
// Each line is one write(2), appended: a kill -9 loses nothing that was written, and cuts no line.
// Times are CLOCK_BOOTTIME in nanoseconds, read by the system call itself: a preload that makes the
// process's clock wrong, as one of the faults does, doesn't reach it. Thread-safe.
#pragma once

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

namespace baton::chaos {

class History {
 public:
  /// `clock_offset_ns`: what this process's time namespace adds to the clock; it is taken off
  /// again.
  History(const std::string& path, std::int64_t clock_offset_ns)
      : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)),
        clock_offset_ns_(clock_offset_ns) {
    if (file_ < 0) {
      std::perror(path.c_str());
      std::exit(1);
    }
  }
  ~History() { close(file_); }
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  std::int64_t Now() const {
    timespec time{};
    syscall(SYS_clock_gettime, CLOCK_BOOTTIME, &time);
    return time.tv_sec * 1'000'000'000L + time.tv_nsec - clock_offset_ns_;
  }

  /// A history with holes would be judged as if nothing had happened in them: rather none at all.
  void Write(std::string line) const {
    line += '\n';
    if (write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::abort();
  }

 private:
  const int file_;
  const std::int64_t clock_offset_ns_;
};

/// Text between quotes; correct text of ours holds only printable ASCII.
inline std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c >= ' ' && c < 127 ? c : '?';
  }
  return quoted + "\"";
}

}  // namespace baton::chaos
