#include "runtime/metrics/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>

#include "runtime/metrics/families.h"

namespace baton::runtime {
namespace {

std::string Content(const char* path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

/// The fields of /proc/self/stat from the third on. The second one, a name, may contain anything.
std::vector<std::string> StatFields() {
  const std::string stat = Content("/proc/self/stat");
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(stat.substr(name_end + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

/// `field`: as proc(5) counts fields, from 1. REQUIRES: at least 3.
std::optional<double> StatField(const std::vector<std::string>& fields, std::size_t field) {
  if (fields.size() <= field - 3) return std::nullopt;
  double value = 0;
  std::istringstream text(fields[field - 3]);
  if (!(text >> value)) return std::nullopt;
  return value;
}

/// When the machine booted, in seconds since 1970; 0: unknown.
double BootTime() {
  std::istringstream stat(Content("/proc/stat"));
  double seconds = 0;
  for (std::string line; std::getline(stat, line);) {
    if (line.starts_with("btime ")) std::istringstream(line.substr(6)) >> seconds;
  }
  return seconds;
}

// Read once: the kernel computes the boot time again whenever the wall clock is set.
double StartTime() {
  const double booted = BootTime();
  const auto ticks = StatField(StatFields(), 22);
  if (booted <= 0 || !ticks) return 0;
  return booted + *ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double CpuSeconds() {
  timespec spent{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

/// Does not count the descriptor that this function opens.
std::optional<double> OpenDescriptors() {
  std::error_code failed;
  double count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", failed), end;
       !failed && entry != end; entry.increment(failed)) {
    ++count;
  }
  if (failed || count == 0) return std::nullopt;
  return count - 1;
}

}  // namespace

ProcessMetrics::ProcessMetrics(std::string group)
    : group_(std::move(group)), started_(StartTime()) {}

std::vector<prometheus::MetricFamily> ProcessMetrics::Collect() const {
  FamilyBuilder out(group_);
  const auto gauge = [&](const char* name, const char* help, std::optional<double> value) {
    if (value) out.Gauge(name, help).Add(*value);
  };
  out.Counter("process_cpu_seconds_total", "CPU time of this process, user and system, in seconds.")
      .Add(CpuSeconds());
  const auto fields = StatFields();
  const auto pages = StatField(fields, 24);
  gauge("process_resident_memory_bytes", "Resident memory of this process, in bytes.",
        pages ? std::optional(*pages * static_cast<double>(sysconf(_SC_PAGESIZE))) : std::nullopt);
  gauge("process_virtual_memory_bytes", "Virtual memory of this process, in bytes.",
        StatField(fields, 23));
  gauge("process_threads", "Threads of this process.", StatField(fields, 20));
  gauge("process_open_fds", "Open file descriptors of this process.", OpenDescriptors());
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    gauge("process_max_fds", "How many file descriptors this process may open.",
          static_cast<double>(limit.rlim_cur));
  }
  if (started_ > 0) {
    gauge("process_start_time_seconds", "When this process was started, in unix seconds.",
          started_);
  }
  return out.Take();
}

}  // namespace baton::runtime
