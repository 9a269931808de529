// Memory for baton_sim: the global operator new, from lists of free blocks, by size and thread. A
// run allocates and frees millions of small blocks (events, messages, facts) and the 48 KiB arenas
// of transactions, on one thread; a general allocator took a fifth of its time. The pool keeps
// memory that it took from the system for the next run.
//
// Only for the program; tests and sanitized builds use the system's allocator.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace {

constexpr std::size_t kStep = 16;
constexpr std::size_t kSmall = 1024;                  // up to this in steps, above in powers of two
constexpr std::size_t kLarge = std::size_t{1} << 17;  // above this the system's
constexpr std::size_t kSlab = std::size_t{1} << 20;
constexpr std::size_t kSmallClasses = kSmall / kStep;
constexpr std::size_t kClasses = kSmallClasses + 7;  // 2 KiB to 128 KiB
constexpr std::size_t kNoClass = kClasses;

// Stands before each block; as wide as operator new's alignment.
struct alignas(kStep) Header {
  std::size_t size_class = 0;
};
struct Free {
  Free* next = nullptr;
};
static_assert(sizeof(Header) == kStep && sizeof(Free) <= kStep);

struct Lists {
  std::array<Free*, kClasses> free{};
  std::byte* slab = nullptr;
  std::size_t left = 0;
};
thread_local constinit Lists lists;

std::size_t ClassOf(std::size_t size) {
  if (size <= kSmall) return size == 0 ? 0 : (size - 1) / kStep;
  if (size > kLarge) return kNoClass;
  return kSmallClasses + static_cast<std::size_t>(std::bit_width(size - 1)) - 11;
}

std::size_t SizeOf(std::size_t size_class) {
  if (size_class < kSmallClasses) return (size_class + 1) * kStep;
  return kSmall << (size_class - kSmallClasses + 1);
}

void* FromSystem(std::size_t size) {
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}

void* Carve(std::size_t size_class) {
  const std::size_t size = sizeof(Header) + SizeOf(size_class);
  if (lists.left < size) {
    lists.slab = static_cast<std::byte*>(FromSystem(kSlab));
    lists.left = kSlab;
  }
  auto* header = new (lists.slab) Header{size_class};
  lists.slab += size;
  lists.left -= size;
  return header + 1;
}

void* Allocate(std::size_t size) {
  const std::size_t size_class = ClassOf(size);
  if (size_class == kNoClass) {
    return new (FromSystem(sizeof(Header) + size)) Header{kNoClass} + 1;
  }
  Free*& head = lists.free[size_class];
  if (head == nullptr) return Carve(size_class);
  Free* block = head;
  head = block->next;
  return block;
}

void Release(void* block) {
  if (block == nullptr) return;
  Header* header = static_cast<Header*>(block) - 1;
  if (header->size_class == kNoClass) return std::free(header);
  Free*& head = lists.free[header->size_class];
  head = new (block) Free{head};
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* block) noexcept { Release(block); }
void operator delete[](void* block) noexcept { Release(block); }
void operator delete(void* block, std::size_t) noexcept { Release(block); }
void operator delete[](void* block, std::size_t) noexcept { Release(block); }
