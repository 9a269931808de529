#include "sim/arguments.h"

#include <charconv>
#include <cstring>

namespace baton::sim {
namespace {

std::optional<std::uint64_t> NumberOf(const char* word) {
  std::uint64_t number = 0;
  const char* end = word + std::strlen(word);
  const auto read = std::from_chars(word, end, number);
  if (read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

bool Read(const Arguments& arguments, int count, char** words) {
  for (int i = 1; i < count; ++i) {
    const auto flag = arguments.flags.find(words[i]);
    if (flag != arguments.flags.end()) {
      *flag->second = true;
      continue;
    }
    const auto word = arguments.words.find(words[i]);
    if (word != arguments.words.end()) {
      if (++i == count) return false;
      *word->second = words[i];
      continue;
    }
    const auto number = arguments.numbers.find(words[i]);
    if (number == arguments.numbers.end() || ++i == count) return false;
    *number->second = NumberOf(words[i]);
    if (!number->second->has_value()) return false;
  }
  return true;
}

}  // namespace baton::sim
