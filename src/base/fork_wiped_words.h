// ForkWipedWords: numbers that a child made by fork() finds to be 0, whatever they are in its
// parent.
//
// A forked child has a copy of its parent's memory, but none of its other threads. So nothing in
// the child would ever end a leadership that its copy shows. The kernel wipes these words
// (MADV_WIPEONFORK) for every way to fork, also for _Fork() and clone(), which run no handlers of
// pthread_atfork. On a kernel that can't do that (Linux before 4.14, some sandboxes), the child
// does not have these words at all: it ends by SIGSEGV when it touches them. A child of vfork() or
// posix_spawn() shares its parent's memory; nothing is wiped for it, or for its parent.
//
// As thread-safe as its atomics.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace baton {

class ForkWipedWords {
 public:
  /// `count` words, all 0. Takes whole pages. REQUIRES: count > 0. Throws std::bad_alloc. Aborts if
  /// the kernel can keep the words from children in neither way.
  explicit ForkWipedWords(std::size_t count);
  ~ForkWipedWords();
  ForkWipedWords(const ForkWipedWords&) = delete;
  ForkWipedWords& operator=(const ForkWipedWords&) = delete;

  /// REQUIRES: index < count.
  std::atomic<std::int64_t>& operator[](std::size_t index) noexcept { return words_[index]; }
  const std::atomic<std::int64_t>& operator[](std::size_t index) const noexcept {
    return words_[index];
  }

 private:
  const std::size_t bytes_;
  std::atomic<std::int64_t>* const words_;
};

/// Tells whether the process is a forked child, or a child's child, of the one that made this
/// object.
class ForkMark {
 public:
  ForkMark() { mark_[0].store(1, std::memory_order_relaxed); }
  bool InForkedChild() const noexcept { return mark_[0].load(std::memory_order_relaxed) == 0; }

 private:
  ForkWipedWords mark_{1};
};

}  // namespace baton
