#include "base/duration_text.h"

#include <array>
#include <string_view>
#include <utility>

namespace baton {

std::string FormatDuration(std::chrono::milliseconds duration) {
  constexpr std::chrono::milliseconds kNone{0};
  constexpr std::array<std::pair<std::string_view, std::chrono::milliseconds>, 3> kLargestFirst = {
      {{"h", std::chrono::hours(1)},
       {"m", std::chrono::minutes(1)},
       {"s", std::chrono::seconds(1)}}};
  if (duration == kNone) return "0s";
  for (const auto& [name, length] : kLargestFirst) {
    if (duration % length == kNone) return std::to_string(duration / length) + std::string(name);
  }
  return std::to_string(duration.count()) + "ms";
}

}  // namespace baton
