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

bool IsCertificatePattern(std::string_view pattern) {
  const bool form = pattern == "*" || pattern.starts_with("spiffe://") ||
                    pattern.starts_with("dns:") || pattern.starts_with("cn:");
  return form && pattern.find('*') >= pattern.size() - 1;
}

bool FitsCertificatePattern(std::string_view name, std::string_view pattern) {
  if (name.empty()) return false;
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace baton
