// An application of a sidecar, as a process of its own to be killed: it answers everything at once.
#pragma once

#include <string>

namespace baton::bench {

/// Attaches to the sidecar at this address, again and again, until the process is ended.
[[noreturn]] void BeApplication(const std::string& address);

}  // namespace baton::bench
