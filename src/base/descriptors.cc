#include "base/descriptors.h"

#include <sys/resource.h>

#include <algorithm>
#include <climits>

namespace baton {

int LeastReserved(int more) {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return INT_MAX;
  const rlim_t own = std::min<rlim_t>(kReservedDescriptors, files.rlim_cur / 4);
  const rlim_t kept = more == 0 ? own : std::min<rlim_t>(own + more, files.rlim_cur / 2);
  return static_cast<int>(std::min<rlim_t>(files.rlim_cur - kept, INT_MAX));
}

bool IsReserved(int descriptor) { return descriptor >= LeastReserved(); }

}  // namespace baton
