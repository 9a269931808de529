#include "base/timestamp.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace baton {

std::string Timestamp(std::chrono::system_clock::time_point time) {
  using std::chrono::seconds;
  const auto since = time.time_since_epoch();
  // Rounded down by hand: std::chrono::floor overflows in the clock's first second.
  auto whole = std::chrono::duration_cast<seconds>(since);
  auto rest = since - whole;
  if (rest.count() < 0) {
    whole -= seconds(1);
    rest += seconds(1);
  }
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(rest);
  const std::time_t unix_time = static_cast<std::time_t>(whole.count());
  std::tm parts{};
  gmtime_r(&unix_time, &parts);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + length, text.size() - length, ".%03dZ",
                static_cast<int>(millis.count()));
  return text.data();
}

}  // namespace baton
