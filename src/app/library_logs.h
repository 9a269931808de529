// LibraryLogs: what protobuf and gRPC would write to stderr themselves becomes records of the log.
#pragma once

namespace baton::app {

/// From now on they neither wait for a slow reader of stderr nor write lines of another format. For
/// a process that is ours alone, once, before its first call: both know one receiver a process.
///
/// Protobuf's complaints about what it can't parse are of level debug, as whoever asked it to parse
/// says what follows. gRPC's errors are warnings; what else GRPC_VERBOSITY and GRPC_TRACE ask it
/// for, info.
void TakeLibraryLogs();

}  // namespace baton::app
