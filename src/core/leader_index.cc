#include "core/leader_index.h"

namespace baton::core {

LeaderIndex::Number LeaderIndex::NumberOf(const NodeId& node) const {
  const auto found = numbers_.find(node);
  return found != numbers_.end() ? found->second : kNobody;
}

void LeaderIndex::Set(ShardId shard, const NodeId& node) {
  Link& link = links_[shard.value];
  if (link.node != kNobody) {
    if (names_[link.node] == node) return;
    Remove(shard.value);
  }
  if (node.empty()) return;
  Number number = NumberOf(node);
  if (number == kNobody) {
    if (free_.empty()) {
      number = static_cast<Number>(first_.size());
      first_.push_back(kEnd);
      names_.push_back(node);
    } else {
      number = free_.back();
      free_.pop_back();
      names_[number] = node;
    }
    numbers_[node] = number;
  }
  link = {.node = number, .before = kEnd, .next = first_[number]};
  if (link.next != kEnd) links_[link.next].before = shard.value;
  first_[number] = shard.value;
}

void LeaderIndex::Remove(std::uint32_t shard) {
  const Link link = links_[shard];
  links_[shard] = Link{};
  if (link.next != kEnd) links_[link.next].before = link.before;
  if (link.before != kEnd) {
    links_[link.before].next = link.next;
    return;
  }
  first_[link.node] = link.next;
  if (link.next != kEnd) return;
  numbers_.erase(names_[link.node]);
  free_.push_back(link.node);
}

}  // namespace baton::core
