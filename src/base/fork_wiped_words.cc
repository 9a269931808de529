#include "base/fork_wiped_words.h"

#include <sys/mman.h>

#include <new>

#include "base/check.h"

namespace baton {
namespace {

using Word = std::atomic<std::int64_t>;
static_assert(Word::is_always_lock_free && sizeof(Word) == sizeof(std::int64_t));

// Fresh pages are zeros, which is what atomics of value 0 look like; so no constructor runs.
Word* MapWords(std::size_t bytes) {
  void* const pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) throw std::bad_alloc();
  const bool kept_from_children =
      madvise(pages, bytes, MADV_WIPEONFORK) == 0 || madvise(pages, bytes, MADV_DONTFORK) == 0;
  BATON_CHECK(kept_from_children);
  return static_cast<Word*>(pages);
}

}  // namespace

ForkWipedWords::ForkWipedWords(std::size_t count)
    : bytes_(count * sizeof(Word)), words_(MapWords(bytes_)) {}

ForkWipedWords::~ForkWipedWords() { munmap(words_, bytes_); }

}  // namespace baton
