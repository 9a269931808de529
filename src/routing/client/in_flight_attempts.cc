#include "routing/client/in_flight_attempts.h"

#include <algorithm>

namespace baton::routing {

InFlightAttempts::Attempt::Attempt(InFlightAttempts& all, ShardId shard, Term term,
                                   bool replaceable, grpc::ClientContext& context)
    : all_(all), shard_(shard), term_(term), replaceable_(replaceable), context_(context) {
  const std::lock_guard lock(all_.mutex_);
  all_.attempts_.insert(this);
  if (all_.closed_) context_.TryCancel();
}

InFlightAttempts::Attempt::~Attempt() {
  const std::lock_guard lock(all_.mutex_);
  all_.attempts_.erase(this);
}

bool InFlightAttempts::Attempt::superseded() const {
  const std::lock_guard lock(all_.mutex_);
  return superseded_;
}

void InFlightAttempts::Compare(const std::function<Term(ShardId)>& term_of, TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (Attempt* attempt : attempts_) {
    if (!attempt->replaceable_ || attempt->due_) continue;
    if (term_of(attempt->shard_) > attempt->term_) attempt->due_ = now + kGrace;
  }
}

std::optional<TimePoint> InFlightAttempts::EndDue(TimePoint now) {
  std::optional<TimePoint> next;
  const std::lock_guard lock(mutex_);
  for (Attempt* attempt : attempts_) {
    if (!attempt->due_ || attempt->superseded_) continue;
    if (*attempt->due_ <= now) {
      attempt->superseded_ = true;
      attempt->context_.TryCancel();
    } else {
      next = next ? std::min(*next, *attempt->due_) : *attempt->due_;
    }
  }
  return next;
}

void InFlightAttempts::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Attempt* attempt : attempts_) attempt->context_.TryCancel();
}

}  // namespace baton::routing
