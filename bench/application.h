// An application of a sidecar, in a separate process that the bench kills: it answers at once.
#pragma once

#include <string>

namespace baton::bench {

/// Attaches to the sidecar at this address, again and again, until the process is ended.
[[noreturn]] void BeApplication(const std::string& address);

}  // namespace baton::bench
