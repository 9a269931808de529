// ForkWipedWords: numbers that are 0 in each forked child, whatever they are in the parent.
//
// A forked child has a copy of its parent's memory, but only one of the parent's threads. No thread
// of the child would end a leadership that the copied memory shows. So the kernel sets these words
// to 0 in the child (MADV_WIPEONFORK), whatever kind of fork made it, also _Fork() and clone().
//
// A kernel that can't wipe words (Linux before 4.14, some sandboxes) leaves the words out of the
// child. If the child then reads or writes a word, SIGSEGV ends the child. A child of vfork() or
// posix_spawn() shares its parent's memory, so nothing is wiped.
//
// Thread-safe: the words are atomics.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace baton {

class ForkWipedWords {
 public:
  /// Makes `count` words, all 0. Takes whole pages of memory. Throws std::bad_alloc if there is no
  /// memory, or if `count` is 0. Aborts if the kernel has neither MADV_WIPEONFORK nor
  /// MADV_DONTFORK.
  explicit ForkWipedWords(std::size_t count);
  ~ForkWipedWords();
  ForkWipedWords(const ForkWipedWords&) = delete;
  ForkWipedWords& operator=(const ForkWipedWords&) = delete;

  /// REQUIRES (not checked): index < count.
  std::atomic<std::int64_t>& operator[](std::size_t index) noexcept { return words_[index]; }
  const std::atomic<std::int64_t>& operator[](std::size_t index) const noexcept {
    return words_[index];
  }

 private:
  const std::size_t bytes_;
  std::atomic<std::int64_t>* const words_;
};

/// Says whether this process was forked, directly or in several steps, from the process that made
/// this object. The constructor throws and aborts like the constructor of ForkWipedWords.
class ForkMark {
 public:
  ForkMark() { mark_[0].store(1, std::memory_order_relaxed); }
  /// Any thread. On a kernel that can't wipe words, SIGSEGV ends a forked child that calls this.
  bool InForkedChild() const noexcept { return mark_[0].load(std::memory_order_relaxed) == 0; }

 private:
  ForkWipedWords mark_{1};
};

}  // namespace baton
