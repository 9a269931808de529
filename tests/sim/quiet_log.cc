#include "sim/quiet_log.h"

#include <unistd.h>

#include <cstdio>
#include <string_view>

namespace baton::sim {
namespace {

bool log_shown = false;

// A record begins with its time, in UTC; nothing else does.
bool IsRecord(std::string_view text) {
  return text.size() > 24 && text[4] == '-' && text[23] == 'Z';
}

ssize_t Write(void*, const char* data, std::size_t size) {
  const std::string_view text(data, size);
  if (IsRecord(text)) {
    if (log_shown) std::printf("             log: %.*s", static_cast<int>(size), data);
  } else {
    static_cast<void>(write(STDERR_FILENO, data, size) < 0);
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

void QuietLog(bool shown) {
  log_shown = shown;
  cookie_io_functions_t functions{};
  functions.write = Write;
  stderr = fopencookie(nullptr, "w", functions);
  setvbuf(stderr, nullptr, _IOLBF, 4096);
}

}  // namespace baton::sim
