// Turns the lines that protobuf and gRPC write to stderr into records of the log.
#pragma once

namespace baton::app {

/// Takes over both libraries' logs. From then on they neither wait for a slow reader of stderr nor
/// write lines of another format. Call it once, before the first use of either, and only in a
/// program of ours: each library has one receiver for the whole process.
///
/// Protobuf's lines get the level debug: they are about input that it can't parse, and its caller
/// reports that. gRPC's errors become warnings, of each place in its code once a minute at most;
/// lines that GRPC_VERBOSITY and GRPC_TRACE ask for (batond heeds them at --log-level trace alone,
/// since they show etcd's tokens) become info. A failed assertion, after which gRPC aborts,
/// bypasses the log (LastWords).
void TakeLibraryLogs();

}  // namespace baton::app
