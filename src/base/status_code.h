// gRPC's names of status codes, for metrics and messages.
//
// Pure; any thread.
#pragma once

namespace baton {

/// Returns gRPC's name of a status code, such as "OK" or "UNAVAILABLE"; "OTHER": unknown code.
const char* StatusCodeName(int code);

}  // namespace baton
