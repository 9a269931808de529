#include "access/stream_places.h"

#include <mutex>
#include <unordered_map>
#include <utility>

namespace baton::access {

struct StreamPlaces::Held {
  std::mutex mutex;                                        // guards what follows
  std::unordered_map<std::string, std::size_t> by_caller;  // at most Bounds::of_readers
  std::size_t all = 0;
  std::uint64_t refused = 0;
};

StreamPlaces::StreamPlaces(Bounds bounds) : bounds_(bounds), held_(std::make_shared<Held>()) {}

std::optional<StreamPlaces::Place> StreamPlaces::Take(const Caller& caller, Role role) {
  if (Includes(role, Role::kOperate)) return Place();
  const std::string name = LimitedAs(caller);
  {
    const std::lock_guard lock(held_->mutex);
    const auto known = held_->by_caller.find(name);
    const std::size_t of_caller = known == held_->by_caller.end() ? 0 : known->second;
    if (held_->all >= bounds_.of_readers || of_caller >= bounds_.of_caller) {
      ++held_->refused;
      return std::nullopt;
    }
    ++held_->by_caller[name];
    ++held_->all;
  }
  return Place(nullptr, [held = held_, name](const void*) {
    const std::lock_guard lock(held->mutex);
    --held->all;
    const auto found = held->by_caller.find(name);
    if (--found->second == 0) held->by_caller.erase(found);
  });
}

StreamPlaces::Counts StreamPlaces::counts() const {
  const std::lock_guard lock(held_->mutex);
  return {.open = held_->all, .refused = held_->refused};
}

}  // namespace baton::access
