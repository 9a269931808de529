#include "app/daemon/library_logs.h"

#include <fmt/format.h>
#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

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

/// Strangers can make gRPC log errors: by failed handshakes, or broken bytes. So few are logged of
/// each place in its code.
class Errors {
 public:
  /// Unset: this one is not logged. Else how many of that place were not, before it.
  std::optional<std::uint64_t> Next(const char* file, int line) {
    const std::lock_guard lock(mutex_);
    Place& place = places_[{file, line}];
    const auto now = std::chrono::steady_clock::now();
    if (place.quiet_until && now < *place.quiet_until) {
      ++place.not_logged;
      return std::nullopt;
    }
    place.quiet_until = now + kLogEvery;
    return std::exchange(place.not_logged, 0);
  }

 private:
  static constexpr std::chrono::minutes kLogEvery{1};
  struct Place {
    std::optional<std::chrono::steady_clock::time_point> quiet_until;
    std::uint64_t not_logged = 0;
  };

  std::mutex mutex_;
  std::map<std::pair<std::string, int>, Place> places_;  // guarded by mutex_
};

void TakeGrpc(gpr_log_func_args* said) {
  // gRPC aborts after it, so the log's queue would lose it.
  if (std::string_view(said->message).starts_with("assertion failed")) {
    return LastWords(fmt::format("batond: grpc: {}:{}: {}", said->file, said->line, said->message));
  }
  log::Level level = log::Level::kInfo;
  std::uint64_t not_logged = 0;
  if (said->severity == GPR_LOG_SEVERITY_ERROR) {
    static Errors errors;
    const auto before = errors.Next(said->file, said->line);
    if (!before) return;
    level = log::Level::kWarn;
    not_logged = *before;
  }
  log::Write(level, said->message,
             {{"library", "grpc"},
              {"file", said->file},
              {"line", std::int64_t{said->line}},
              {"not_logged", not_logged}});
}

}  // namespace

void TakeLibraryLogs() {
  google::protobuf::SetLogHandler(TakeProtobuf);
  gpr_set_log_function(TakeGrpc);
}

}  // namespace baton::app
