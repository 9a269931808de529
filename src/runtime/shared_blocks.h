// SharedBlocks: a sequence whose copies share equal parts, in blocks of kBlock elements.
//
// A copy of the sequence costs a pointer for each block. If an element changes, and another
// sequence shares its block, the block is copied first. So the node's loop can hand out a status of
// 100,000 shards for the price of the blocks in which shards changed.
//
// If an object is not const, each access to an element counts as a change, also an access by an
// iterator. To read, use a const object (std::as_const). A reference to an element is valid until
// the object is copied, its size changes, or an element of the same block is changed.
//
// Thread-safe as a vector is: several threads may read one object and copies of it. While a thread
// changes an object, no other thread may read or copy this object. One rule is added: while a
// thread destroys or changes a copy that shares a block, no other thread may change the block.
// After Renew of the block, this is allowed.
//
// Indexes are not checked.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

namespace baton::runtime {

template <typename T>
class SharedBlocks {
 public:
  static constexpr std::size_t kBlock = 256;

  template <typename Sequence, typename Value>
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = Value*;
    using reference = Value&;

    Iterator() = default;
    Iterator(Sequence* sequence, std::size_t at) : sequence_(sequence), at_(at) {}
    reference operator*() const { return (*sequence_)[at_]; }
    pointer operator->() const { return &(*sequence_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++at_;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

   private:
    Sequence* sequence_ = nullptr;
    std::size_t at_ = 0;
  };
  using iterator = Iterator<SharedBlocks, T>;
  using const_iterator = Iterator<const SharedBlocks, const T>;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t at) const { return (*blocks_[at / kBlock])[at % kBlock]; }
  T& operator[](std::size_t at) { return Own(at / kBlock)[at % kBlock]; }
  const T& front() const { return (*this)[0]; }
  T& front() { return (*this)[0]; }
  const T& back() const { return (*this)[size_ - 1]; }
  T& back() { return (*this)[size_ - 1]; }
  const_iterator begin() const { return {this, 0}; }
  const_iterator end() const { return {this, size_}; }
  iterator begin() { return {this, 0}; }
  iterator end() { return {this, size_}; }

  void clear() { *this = {}; }
  void push_back(T value) {
    if (size_ % kBlock == 0) blocks_.push_back(std::make_shared<Block>());
    Own(size_ / kBlock).push_back(std::move(value));
    ++size_;
  }
  void resize(std::size_t size) {
    blocks_.resize((size + kBlock - 1) / kBlock);
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      if (blocks_[b] == nullptr) blocks_[b] = std::make_shared<Block>();
      const std::size_t length = std::min(kBlock, size - b * kBlock);
      if (blocks_[b]->size() != length) Own(b).resize(length);
    }
    size_ = size;
  }
  /// Gives this sequence a new copy of the element's block, even if nobody shares the block. After
  /// that, this sequence may change the block while other threads destroy or change their copies.
  /// Call Renew again after this sequence was copied.
  void Renew(std::size_t at) {
    auto& block = blocks_[at / kBlock];
    block = std::make_shared<Block>(*block);
  }

 private:
  using Block = std::vector<T>;
  Block& Own(std::size_t block) {
    if (blocks_[block].use_count() > 1) blocks_[block] = std::make_shared<Block>(*blocks_[block]);
    return *blocks_[block];
  }

  std::vector<std::shared_ptr<Block>> blocks_;
  std::size_t size_ = 0;
};

}  // namespace baton::runtime
