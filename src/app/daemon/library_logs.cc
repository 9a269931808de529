#include "app/daemon/library_logs.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "base/last_words.h"
#include "base/log.h"

namespace baton::app {
namespace {

void TakeProtobuf(google::protobuf::LogLevel level, const char* file, int line,
                  const std::string& message) {
  // Protobuf throws after a fatal line.
  const bool fatal = level == google::protobuf::LOGLEVEL_FATAL;
  log::Write(fatal ? log::Level::kError : log::Level::kDebug, message,
             {{"library", "protobuf"}, {"file", file}, {"line", std::int64_t{line}}});
}

void TakeGrpc(gpr_log_func_args* said) {
  // gRPC aborts after it, so the log's queue would lose it.
  if (std::string_view(said->message).starts_with("assertion failed")) {
    return LastWords(fmt::format("batond: grpc: {}:{}: {}", said->file, said->line, said->message));
  }
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
