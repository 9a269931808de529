#include "app/library_logs.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <cstdint>
#include <string>

#include "base/log.h"

namespace baton::app {
namespace {

void TakeProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                  const std::string& message) {
  // It ends the process after this one.
  const bool fatal = level == google::protobuf::LOGLEVEL_FATAL;
  log::Write(fatal ? log::Level::kError : log::Level::kDebug, message,
             {{"library", "protobuf"}, {"file", file}, {"line", std::int64_t{line}}});
}

void TakeGrpc(gpr_log_func_args* said) {
  const bool error = said->severity == GPR_LOG_SEVERITY_ERROR;
  log::Write(error ? log::Level::kWarn : log::Level::kInfo, said->message,
             {{"library", "grpc"}, {"file", said->file}, {"line", std::int64_t{said->line}}});
}

}  // namespace

void TakeLibraryLogs() {
  google::protobuf::SetLogHandler(TakeProtobuf);
  gpr_set_log_function(TakeGrpc);
}

}  // namespace baton::app
