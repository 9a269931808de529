// Turns the lines that protobuf and gRPC write to stderr into records of the log.
#pragma once

namespace baton::app {

/// Takes over the logs of both libraries. So their lines have the log's format, and a slow reader
/// of stderr can't make the libraries wait. REQUIRES (not checked): called once, before the first
/// use of either library. Call this only in a program of ours, because each library has one
/// receiver for the whole process.
///
/// Protobuf's fatal lines become errors. Its other lines become debug records. They are about input
/// that protobuf can't parse, and the code that calls protobuf reports this anyway. gRPC's errors
/// become warnings, at most one a minute for each place in gRPC's code; `not_logged` counts the
/// others. Lines that GRPC_VERBOSITY or GRPC_TRACE asks for become info records. These lines show
/// etcd's tokens, so batond allows them only at --log-level trace. A failed assertion of gRPC is
/// written to stderr at once (LastWords), because gRPC then aborts.
void TakeLibraryLogs();

}  // namespace baton::app
