#include "app/common/did_you_mean.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace baton::app {
namespace {

std::string Plain(std::string word) {
  std::transform(word.begin(), word.end(), word.begin(), [](unsigned char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(c));
  });
  return word;
}

/// How many letters must be put in, taken out or replaced (Levenshtein's distance).
std::size_t Distance(const std::string& from, const std::string& to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const std::size_t replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

}  // namespace

std::string Nearest(const std::string& word, const std::vector<std::string>& known) {
  constexpr std::size_t kLongestWord = 100;
  if (word.size() > kLongestWord) return "";
  std::string nearest;
  std::size_t least = (word.size() + 1) / 3 + 1;  // from this distance on it is another word
  for (const std::string& candidate : known) {
    const std::size_t distance = Distance(Plain(word), Plain(candidate));
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string DidYouMean(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = Nearest(word, known);
  return nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest);
}

std::string PlainUsageError(const std::string& message) {
  const std::size_t end = message.find(": At Most 1 required but received ");
  return end == std::string::npos ? message : message.substr(0, end) + " was given more than once";
}

}  // namespace baton::app
