#include "base/sent_lately.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace baton {
namespace {

// A caller may have as many addresses as it likes.
void ForgetThoseWhoSentLeast(SentLately::SentByCaller& sent) {
  if (sent.size() <= 2 * SentLately::kMaxCallers) return;
  std::vector<std::int64_t> amounts;
  amounts.reserve(sent.size());
  for (const auto& [caller, bytes] : sent) amounts.push_back(bytes);
  const auto last = amounts.begin() + SentLately::kMaxCallers;
  std::nth_element(amounts.begin(), last, amounts.end(), std::greater<>());
  std::size_t many = sent.size() - SentLately::kMaxCallers;
  std::erase_if(sent, [&](const auto& each) {
    const bool forgotten = many > 0 && each.second <= *last;
    many -= forgotten ? 1 : 0;
    return forgotten;
  });
}

}  // namespace

void SentLately::Add(TimePoint now, std::int64_t resident, const SentByCaller& sent) {
  while (!steps_.empty() && now - steps_.front().ended > kept_) steps_.pop_front();
  if (steps_.empty() || now - steps_.back().began >= step_) {
    steps_.push_back(
        {.began = now, .ended = now, .smallest = resident, .last = resident, .sent = sent});
    return ForgetThoseWhoSentLeast(steps_.back().sent);
  }
  Step& step = steps_.back();
  step.ended = now;
  step.last = resident;
  const bool smaller = resident > 0 && (step.smallest == 0 || resident < step.smallest);
  if (smaller) step.smallest = resident;
  for (const auto& [caller, bytes] : sent) step.sent[caller] += bytes;
  ForgetThoseWhoSentLeast(step.sent);
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
