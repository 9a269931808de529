#include "app/common/duration.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace baton::app {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLongest = std::chrono::hours(1000);

constexpr std::array<std::pair<std::string_view, milliseconds>, 4> kUnits = {{
    {"h", std::chrono::hours(1)},
    {"m", std::chrono::minutes(1)},
    {"s", std::chrono::seconds(1)},
    {"ms", milliseconds(1)},
}};

Error Malformed(std::string_view text) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("\"{}\" is not a duration; expected a whole number and a unit, such as "
                      "500ms, 10s, 1m or 2h",
                      text)};
}

}  // namespace

Result<milliseconds> ParseDuration(std::string_view text) {
  if (text == "0") return milliseconds(0);
  std::uint64_t count = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failed != std::errc()) return Malformed(text);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, length] : kUnits) {
    if (unit != name) continue;
    if (count > static_cast<std::uint64_t>(kLongest / length)) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("\"{}\" is too long; expected at most 1000h", text)};
    }
    return length * static_cast<std::int64_t>(count);
  }
  return Malformed(text);
}

}  // namespace baton::app
