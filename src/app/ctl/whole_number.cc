#include "app/ctl/whole_number.h"

#include <charconv>
#include <string>
#include <system_error>

#include <fmt/format.h>

namespace baton::app {

CLI::Validator WholeNumber(std::uint64_t least, std::uint64_t most) {
  return {[least, most](const std::string& text) {
            std::uint64_t number = 0;
            const char* const end = text.data() + text.size();
            const auto [rest, failed] = std::from_chars(text.data(), end, number);
            // CLI11 would read a number with a leading zero as an octal one.
            const bool octal = text.size() > 1 && text.front() == '0';
            const bool whole = failed == std::errc() && rest == end && !octal;
            if (whole && number >= least && number <= most) return std::string();
            return fmt::format("\"{}\" is not valid; expected a whole number from {} to {}{}", text,
                               least, most, octal ? ", without leading zeros" : "");
          },
          ""};
}

}  // namespace baton::app
