// A server of WatchRoutes that knows nothing of routes, as a process of its own: what 1,000 streams
// cost gRPC alone. Lookup's key, whatever its bytes are, is written to every stream that is open.
#pragma once

#include <string>

namespace baton::bench {

/// Serves until the process is ended; its address appears in `file` once it does. Throws
/// std::runtime_error where it can't.
[[noreturn]] void BeBareStreams(const std::string& file);

}  // namespace baton::bench
