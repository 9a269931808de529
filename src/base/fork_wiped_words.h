// ForkWipedWords: numbers that are 0 in a child made by fork(), whatever they are in the parent.
//
// A forked child has a copy of its parent's memory, but none of the parent's other threads. So no
// thread in the child would ever end a leadership that the copy shows. The kernel wipes these words
// (MADV_WIPEONFORK) for every kind of fork, also for _Fork() and clone(), which don't call the
// handlers of pthread_atfork. A kernel that can't wipe words (Linux before 4.14, some sandboxes)
// leaves the words out of the child. Then SIGSEGV ends the child when it reads or writes a word. A
// child of vfork() or posix_spawn() shares its parent's memory, and nothing is wiped.
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
  /// memory, or if `count` is 0. Aborts if the kernel can neither wipe the words in children nor
  /// leave them out.
  explicit ForkWipedWords(std::size_t count);
  ~ForkWipedWords();
  ForkWipedWords(const ForkWipedWords&) = delete;
  ForkWipedWords& operator=(const ForkWipedWords&) = delete;

  /// REQUIRES: index < count; not checked.
  std::atomic<std::int64_t>& operator[](std::size_t index) noexcept { return words_[index]; }
  const std::atomic<std::int64_t>& operator[](std::size_t index) const noexcept {
    return words_[index];
  }

 private:
  const std::size_t bytes_;
  std::atomic<std::int64_t>* const words_;
};

/// Tells whether the present process was forked, directly or in several steps, from the process
/// that made this object. The constructor throws and aborts as that of ForkWipedWords.
class ForkMark {
 public:
  ForkMark() { mark_[0].store(1, std::memory_order_relaxed); }
  /// Any thread. On a kernel that can't wipe words, the call ends a forked child by SIGSEGV.
  bool InForkedChild() const noexcept { return mark_[0].load(std::memory_order_relaxed) == 0; }

 private:
  ForkWipedWords mark_{1};
};

}  // namespace baton
