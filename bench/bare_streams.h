// A server of WatchRoutes that knows nothing of routes, in a separate process. It shows what 1,000
// streams cost gRPC alone: it writes the bytes of each Lookup request's key to every open stream.
#pragma once

#include <string>

namespace baton::bench {

/// Serves until the process is ended; its address appears in `file` once it does. Throws
/// std::runtime_error if it can't.
[[noreturn]] void BeBareStreams(const std::string& file);

}  // namespace baton::bench
