#include "base/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace baton {

bool IsReserved(int descriptor, int more) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return false;
  const rlim_t own = std::min<rlim_t>(kReservedDescriptors, files.rlim_cur / 4);
  const rlim_t kept = more == 0 ? own : std::min<rlim_t>(own + more, files.rlim_cur / 2);
  return static_cast<rlim_t>(descriptor) >= files.rlim_cur - kept;
}

}  // namespace baton
