// What protobuf and gRPC would write to stderr by themselves becomes records of the log.
#pragma once

namespace baton::app {

/// From now on they neither wait for a slow reader of stderr nor write lines of another format. For
/// a process that is ours alone, once, before its first call: both know one receiver a process.
///
/// What protobuf says is of level debug, as it is about what it can't parse: whoever asked it to
/// says what follows. gRPC's errors are warnings; what else GRPC_VERBOSITY and GRPC_TRACE ask it
/// for, info; a failed assertion, after which it aborts, is written past the log (LastWords).
void TakeLibraryLogs();

}  // namespace baton::app
