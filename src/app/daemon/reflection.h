// gRPC's reflection: it lists services and messages to everybody who reaches the server.
#pragma once

#include "baton/result.h"

namespace baton::app {

/// All gRPC servers that this process builds from now on offer it. gRPC's library for it registers
/// itself with each server once it is loaded, so batond loads it only when it is asked for.
/// kUnavailable: the library can't be loaded.
Status OfferReflection();

}  // namespace baton::app
