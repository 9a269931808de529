// gRPC's names of status codes, for metrics and messages.
//
// Pure; any thread.
#pragma once

namespace baton {

/// gRPC's name of a status code: "OK", "UNAVAILABLE", ...; "OTHER" if unknown.
const char* StatusCodeName(int code);

}  // namespace baton
