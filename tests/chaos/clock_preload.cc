// A preload that makes one clock wrong: CLOCK_BOOTTIME, by which leases are counted. All others,
// and what sleeps and timers go by, stay right. CHAOS_CLOCK names a file of four native 64-bit
// numbers that may change at any time:
//
//   version   odd while the others are being written
//   since     the true time from which the rate counts, ns
//   offset    added to the true time, ns
//   rate      parts per million too fast (negative: too slow)
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

namespace {

using Numbers = std::atomic<std::int64_t>[4];

const Numbers* Map() {
  const char* const path = std::getenv("CHAOS_CLOCK");
  const int file = path == nullptr ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return nullptr;
  void* const memory = mmap(nullptr, sizeof(Numbers), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<const Numbers*>(memory);
}

std::int64_t Wrong(std::int64_t now) {
  static const Numbers* const numbers = Map();
  if (numbers == nullptr) return now;
  const auto& [version, since, offset, rate] = *numbers;
  for (;;) {
    const std::int64_t begun = version.load();
    const std::int64_t wrong =
        now + offset.load() + (now - since.load()) / 1000 * rate.load() / 1000;
    if (begun % 2 == 0 && version.load() == begun) return wrong;
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock,
                                                                    timespec* time) {
  const long result = syscall(SYS_clock_gettime, clock, time);
  if (result == 0 && clock == CLOCK_BOOTTIME) {
    const std::int64_t wrong = Wrong(time->tv_sec * 1'000'000'000L + time->tv_nsec);
    time->tv_sec = wrong / 1'000'000'000L;
    time->tv_nsec = wrong % 1'000'000'000L;
  }
  return static_cast<int>(result);
}
