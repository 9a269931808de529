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

std::optional<std::chrono::sys_seconds> TimeNamed(std::string_view text) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:ddZ";
  if (text.size() != kForm.size()) return std::nullopt;
  std::array<int, 6> numbers{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (kForm[i] == 'd' ? !digit : text[i] != kForm[i]) return std::nullopt;
    if (digit) numbers[at] = 10 * numbers[at] + (text[i] - '0');
    if (!digit) ++at;
  }
  const auto [year, month, day, hour, minute, second] = numbers;
  const std::chrono::year_month_day date(std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day)));
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) +
         std::chrono::seconds(second);
}

}  // namespace baton
