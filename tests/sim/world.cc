#include "sim/world.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <utility>

namespace baton::sim {
namespace {

// A thousand times as many events as a busy group has in this time.
constexpr Duration kLivelockWindow = milliseconds(1);
constexpr std::uint64_t kMaxInWindow = 200'000;

}  // namespace

void World::At(TimePoint when, std::function<void()> event) {
  std::uint32_t slot = 0;
  if (free_slots_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back(std::move(event));
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = std::move(event);
  }
  heap_.push_back({.when = std::max(when, now_), .number = next_number_++, .slot = slot});
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void World::RunUntil(TimePoint end) {
  while (!stopped_ && !heap_.empty() && heap_.front().when <= end) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const Entry entry = heap_.back();
    heap_.pop_back();
    now_ = entry.when;
    if (now_ - counted_since_ > kLivelockWindow) {
      counted_since_ = now_;
      counted_ = 0;
    }
    if (++counted_ > kMaxInWindow) livelocked_ = stopped_ = true;
    const std::function<void()> event = std::move(slots_[entry.slot]);
    slots_[entry.slot] = nullptr;
    free_slots_.push_back(entry.slot);
    ++events_;
    event();
  }
  if (!stopped_) now_ = std::max(now_, end);
}

void World::Hit(Fault fault, Phases struck) {
  if (struck.empty()) return;
  ++faults_[static_cast<std::size_t>(fault)];
  fault_table_.Add(fault, struck);
  Trace(1000 + static_cast<std::uint64_t>(fault), struck.bits(), 0);
  if (verbose_) Say(std::string("fault: ") + ToString(fault) + " (" + ToString(struck) + ")");
}

std::uint64_t World::fault_total() const {
  return std::accumulate(faults_.begin(), faults_.end(), std::uint64_t{0});
}

void World::Trace(std::uint64_t what, std::int64_t a, std::int64_t b) {
  for (const std::uint64_t number :
       {static_cast<std::uint64_t>(now_.time_since_epoch().count()), what,
        static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)}) {
    hash_ = (hash_ ^ number) * 1099511628211ull;
    hash_ ^= hash_ >> 29;
  }
}

void World::Say(std::string_view line) const {
  const auto micros = std::chrono::duration_cast<microseconds>(now_.time_since_epoch()).count();
  std::printf("%5lld.%06lld %.*s\n", static_cast<long long>(micros / 1'000'000),
              static_cast<long long>(micros % 1'000'000), static_cast<int>(line.size()),
              line.data());
}

}  // namespace baton::sim
