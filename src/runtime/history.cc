#include "runtime/history.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace baton::runtime {

std::optional<std::chrono::nanoseconds> GapPhases::Measured() const {
  if (!detect && !elect && !activate) return std::nullopt;
  const std::chrono::nanoseconds none{0};
  return detect.value_or(none) + elect.value_or(none) + activate.value_or(none);
}

GapPhases GapOf(const Transition& transition) {
  GapPhases gap;
  gap.detect_at_most = transition.detect_at_most;
  gap.detect = transition.detect;
  if (transition.elect.count() > 0) gap.elect = transition.elect;
  if (transition.activate.count() > 0) gap.activate = transition.activate;
  return gap;
}

bool DetectionUnknown(const Transition& transition, const GapPhases& gap) {
  return EndsADeath(transition.reason) && !transition.to.empty() && !gap.detect &&
         !gap.detect_at_most;
}

std::optional<std::chrono::nanoseconds> GapAtMost(const Transition& transition,
                                                  const GapPhases& gap) {
  if (DetectionUnknown(transition, gap)) return std::nullopt;
  const auto measured = gap.Measured();
  if (!gap.detect_at_most) return measured;
  return *gap.detect_at_most + measured.value_or(std::chrono::nanoseconds{0});
}

History::History(std::string group, std::string node, std::size_t most)
    : group_(std::move(group)),
      node_(std::move(node)),
      started_(std::chrono::system_clock::now()),
      most_(most) {
  BATON_CHECK(most > 0);
}

void History::Add(Transition transition, Revision revision, GapPhases gap) {
  auto event = std::make_shared<HistoryEvent>();
  event->transition = std::move(transition);
  event->revision = revision;
  event->gap = gap;
  Keep(std::move(event));
}

void History::AddChange(std::string change, std::string actor, Revision revision) {
  BATON_CHECK(!change.empty());
  auto event = std::make_shared<HistoryEvent>();
  event->transition.actor = std::move(actor);
  event->change = std::move(change);
  event->revision = revision;
  Keep(std::move(event));
}

void History::Keep(std::shared_ptr<HistoryEvent> event) {
  event->at = std::chrono::system_clock::now();
  const std::lock_guard lock(mutex_);
  event->seq = ++last_;
  if (events_.size() == most_) events_.pop_front();
  events_.push_back(std::move(event));
  TellWaiters();
}

void History::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  TellWaiters();
}

void History::TellWaiters() {
  std::erase_if(waiters_, [this](const auto& entry) {
    const bool due = Due(entry.second.after);
    if (due) entry.second.ready();
    return due;
  });
}

HistoryPage History::Read(const HistoryQuestion& question) const {
  HistoryPage page{.group = group_, .node = node_, .started = started_};
  std::size_t left = question.examine;
  std::uint64_t next = 0;             // set in the first turn
  std::optional<std::uint64_t> last;  // later events are left for the next question
  for (bool more = true; more;) {
    const std::lock_guard lock(mutex_);
    const std::uint64_t first = First();
    if (!last) next = question.after > last_ ? first : question.after + 1;
    const bool dropped = next < first;
    if (!last || dropped) page.first = first;
    if (!last) page.reset = question.after > last_;
    if (!last) last = last_;
    if (dropped) {
      page.events.clear();
      next = first;
    }
    const std::uint64_t end = std::min(*last + 1, next + std::min(kChunk, left));
    for (; next < end && page.events.size() < question.limit; ++next, --left) {
      const auto& event = events_[next - first];
      const bool of_shard = event->change.empty() && event->transition.shard == question.shard;
      if (!question.shard || of_shard) page.events.push_back(event);
    }
    more = next <= *last && left > 0 && page.events.size() < question.limit;
  }
  page.last = *last;
  page.upto = next - 1;
  page.reset = page.reset || (question.after > 0 && question.after + 1 < page.first);
  return page;
}

std::vector<Transition> History::Recent(std::size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<Transition> recent;
  recent.reserve(std::min(most, events_.size()));
  for (auto event = events_.rbegin(); event != events_.rend() && recent.size() < most; ++event) {
    if ((*event)->change.empty()) recent.push_back((*event)->transition);
  }
  std::reverse(recent.begin(), recent.end());
  return recent;
}

bool History::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

History::WaitId History::Await(std::uint64_t after, std::function<void()> ready) const {
  const std::lock_guard lock(mutex_);
  const WaitId id = ++last_wait_;
  if (Due(after)) {
    ready();
  } else {
    waiters_.emplace(id, Waiter{after, std::move(ready)});
  }
  return id;
}

void History::Cancel(WaitId id) const {
  const std::lock_guard lock(mutex_);
  waiters_.erase(id);
}

}  // namespace baton::runtime
