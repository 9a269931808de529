// Endpoints of gRPC servers as people give them: host:port, [::1]:port.
//
// Pure; any thread.
#pragma once

#include <string_view>

#include "baton/result.h"

namespace baton {

/// OK if `text` is host:port with a port from 1 to 65535, and an IPv6 host in brackets. Else
/// kInvalidArgument with one line that names the text and says what to write.
Status CheckEndpoint(std::string_view text);

}  // namespace baton
