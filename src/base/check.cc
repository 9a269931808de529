#include "base/check.h"

#include <cstdio>
#include <cstdlib>

#include "base/last_words.h"

namespace baton {

void CheckFailed(const char* expression, const char* file, int line) {
  char words[512];
  std::snprintf(words, sizeof words, "baton: broken invariant at %s:%d: %s", file, line,
                expression);
  LastWords(words);
  std::abort();
}

}  // namespace baton
