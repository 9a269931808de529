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

// A prefix may end anywhere. A whole SPIFFE name has a trust domain and a path.
bool IsCertificatePattern(std::string_view pattern) {
  if (pattern == "*") return true;
  if (pattern.find('*') < pattern.size() - 1) return false;
  for (const std::string_view kind : {"spiffe://", "dns:", "cn:"}) {
    if (!pattern.starts_with(kind)) continue;
    const std::string_view name = pattern.substr(kind.size());
    if (pattern.ends_with('*')) return !kind.starts_with("spiffe") || !name.starts_with('/');
    if (!kind.starts_with("spiffe")) return !name.empty();
    const std::size_t path = name.find('/');
    return path != 0 && path < name.size() - 1;
  }
  return false;
}

bool FitsCertificatePattern(std::string_view name, std::string_view pattern) {
  if (name.empty()) return false;
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace baton
