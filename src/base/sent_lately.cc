#include "base/sent_lately.h"

#include <algorithm>

namespace baton {

void SentLately::Add(TimePoint now, std::int64_t resident, const SentByCaller& sent) {
  while (!steps_.empty() && now - steps_.front().ended > kept_) steps_.pop_front();
  if (steps_.empty() || now - steps_.back().began >= step_) {
    steps_.push_back(
        {.began = now, .ended = now, .smallest = resident, .last = resident, .sent = sent});
    return;
  }
  Step& step = steps_.back();
  step.ended = now;
  step.last = resident;
  const bool smaller = resident > 0 && (step.smallest == 0 || resident < step.smallest);
  if (smaller) step.smallest = resident;
  for (const auto& [caller, bytes] : sent) step.sent[caller] += bytes;
}

std::int64_t SentLately::Growth(Duration within) const {
  if (steps_.empty()) return 0;
  const Step& newest = steps_.back();
  std::int64_t smallest = newest.last;
  for (const Step& step : steps_) {
    const bool counts = step.smallest > 0 && newest.ended - step.ended <= within;
    if (counts) smallest = std::min(smallest, step.smallest);
  }
  return newest.last - smallest;
}

SentLately::SentByCaller SentLately::SentSince(TimePoint since) const {
  SentByCaller all;
  for (const Step& step : steps_) {
    if (step.ended < since) continue;
    for (const auto& [caller, bytes] : step.sent) all[caller] += bytes;
  }
  return all;
}

void SentLately::Forget(const std::string& caller) {
  for (Step& step : steps_) step.sent.erase(caller);
}

}  // namespace baton
