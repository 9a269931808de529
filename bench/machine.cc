#include "bench/machine.h"

#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>

#include "bench/bare_client.h"
#include "bench/nodes.h"
#include "bench/process.h"
#include "bench/report.h"

namespace baton::bench {
namespace {

std::string Memory() {
  const double kibibytes = std::strtod(LineOf("/proc/meminfo", "MemTotal").c_str(), nullptr);
  return Short(kibibytes / (1 << 20)) + " GiB";
}

std::string Kernel() {
  utsname name{};
  if (uname(&name) != 0) return "unknown";
  return std::string(name.sysname) + " " + name.release + " " + name.machine;
}

std::string Today() {
  const std::time_t now = std::time(nullptr);
  std::tm broken_down{};
  gmtime_r(&now, &broken_down);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", &broken_down);
  return text;
}

double Load() {
  double load[1] = {0};
  return getloadavg(load, 1) == 1 ? load[0] : -1;
}

}  // namespace

// The first line of /proc/stat (proc(5)): user, nice, system, idle, iowait, irq, softirq, steal, …
ProcessorTime ReadProcessorTime() {
  constexpr int kColumns = 8;
  std::ifstream file("/proc/stat");
  std::string name;
  file >> name;
  ProcessorTime time;
  for (int i = 0; i < kColumns && file >> time.stolen; ++i) time.all += time.stolen;
  return time;
}

double ThreadSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Machine DescribeMachine() {
#ifdef NDEBUG
  const char* const build = ", release build";
#else
  const char* const build = ", debug build";
#endif
  Machine machine;
  machine.load = Load();
  machine.processor = LineOf("/proc/cpuinfo", "model name");
  machine.cores = sysconf(_SC_NPROCESSORS_ONLN);
  machine.memory = Memory();
  machine.kernel = Kernel();
  machine.compiler = std::string("gcc ") + __VERSION__ + build;
  machine.date = Today();
  const auto etcd = StartEtcd();
  machine.etcd = BareClient(EndpointOf(*etcd)).Status().version();
  return machine;
}

}  // namespace baton::bench
