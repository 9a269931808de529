#include "base/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

namespace baton {

bool IsReserved(int descriptor) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return false;
  const rlim_t kept = std::min<rlim_t>(kReservedDescriptors, files.rlim_cur / 4);
  return static_cast<rlim_t>(descriptor) >= files.rlim_cur - kept;
}

}  // namespace baton
