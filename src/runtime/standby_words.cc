#include "runtime/standby_words.h"

#include <utility>

namespace baton::runtime {

void StandbyWords::Note(const core::RunCallback& callback) {
  using core::CallbackKind;
  const std::lock_guard lock(mutex_);
  if (callback.kind == CallbackKind::kStandby) standbys_[callback.shard] = callback.operation;
  const bool ends = callback.kind == CallbackKind::kStandbyEnded ||
                    callback.kind == CallbackKind::kAcquired ||
                    callback.kind == CallbackKind::kLost;
  if (ends) standbys_.erase(callback.shard);
}

bool StandbyWords::Say(ShardId shard, bool ready) {
  const std::lock_guard lock(mutex_);
  const auto found = standbys_.find(shard);
  return found != standbys_.end() && Add({found->second, shard, ready});
}

bool StandbyWords::Say(const core::StandbyReadySaid& word) {
  const std::lock_guard lock(mutex_);
  return Add(word);
}

bool StandbyWords::Add(const core::StandbyReadySaid& word) {
  const auto [waiting, added] = waiting_.try_emplace(word.shard, word);
  if (added) order_.push_back(word.shard);
  if (word.operation >= waiting->second.operation) waiting->second = word;
  return !std::exchange(on_its_way_, true);
}

std::vector<core::StandbyReadySaid> StandbyWords::Take(std::size_t most) {
  std::vector<core::StandbyReadySaid> words;
  const std::lock_guard lock(mutex_);
  for (; words.size() < most && !order_.empty(); order_.pop_front()) {
    words.push_back(waiting_.extract(order_.front()).mapped());
  }
  on_its_way_ = !words.empty();
  return words;
}

}  // namespace baton::runtime
