#include "base/text_rules.h"

#include <algorithm>

namespace baton {

bool IsName(std::string_view text) {
  const auto allowed = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
           c == '_' || c == '.';
  };
  return !text.empty() && text.size() <= kLongestName &&
         std::all_of(text.begin(), text.end(), allowed) && text != "." && text != "..";
}

bool IsVisibleAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c <= '~'; });
}

bool IsAddressText(std::string_view text) {
  return text.size() <= kLongestAddress && IsVisibleAscii(text);
}

}  // namespace baton
