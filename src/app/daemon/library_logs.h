// Turns the lines that protobuf and gRPC write to stderr into records of the log.
#pragma once

namespace baton::app {

/// Takes over the logs of both libraries. So their lines have the log's format, and a slow reader
/// of stderr can't make the libraries wait. REQUIRES (not checked): called once, before the first
/// use of either library, and only in a program of ours. Each library has one receiver for a
/// process.
///
/// The lines become:
///  - Protobuf's fatal lines: errors.
///  - Protobuf's other lines: debug records. They are about input that can't be parsed, which the
///    code that calls protobuf reports anyway.
///  - gRPC's errors: warnings, at most one a minute for each place in gRPC's code. The field
///    `not_logged` counts the others.
///  - gRPC's other lines, which GRPC_VERBOSITY or GRPC_TRACE asks for: info records. They show
///    etcd's tokens, so batond allows them only at --log-level trace.
///  - gRPC's failed assertions: a line on stderr at once (LastWords), because gRPC then aborts.
void TakeLibraryLogs();

}  // namespace baton::app
