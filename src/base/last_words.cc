#include "base/last_words.h"

#include <algorithm>
#include <array>

#include "base/stderr_now.h"

namespace baton {

void LastWords(std::string_view line) {
  std::array<char, 512> text;
  const std::size_t size = std::min(line.size(), text.size() - 1);
  std::copy_n(line.begin(), size, text.begin());
  text[size] = '\n';
  [[maybe_unused]] const ssize_t ignored = WriteStderrNow({text.data(), size + 1});
}

}  // namespace baton
