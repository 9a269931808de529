#include "routing/client/in_flight_attempts.h"

#include <algorithm>

namespace baton::routing {

Flights::Flight::Flight(Flights& flights, ShardId shard, Term term, bool replaceable,
                        grpc::ClientContext& context)
    : flights_(flights), shard_(shard), term_(term), replaceable_(replaceable), context_(context) {
  const std::lock_guard lock(flights_.mutex_);
  flights_.flights_.insert(this);
  if (flights_.closed_) context_.TryCancel();
}

Flights::Flight::~Flight() {
  const std::lock_guard lock(flights_.mutex_);
  flights_.flights_.erase(this);
}

bool Flights::Flight::superseded() const {
  const std::lock_guard lock(flights_.mutex_);
  return superseded_;
}

void Flights::Compare(const std::function<Term(ShardId)>& term_of, TimePoint now) {
  const std::lock_guard lock(mutex_);
  for (Flight* flight : flights_) {
    if (!flight->replaceable_ || flight->due_) continue;
    if (term_of(flight->shard_) > flight->term_) flight->due_ = now + kGrace;
  }
}

std::optional<TimePoint> Flights::EndDue(TimePoint now) {
  std::optional<TimePoint> next;
  const std::lock_guard lock(mutex_);
  for (Flight* flight : flights_) {
    if (!flight->due_ || flight->superseded_) continue;
    if (*flight->due_ <= now) {
      flight->superseded_ = true;
      flight->context_.TryCancel();
    } else {
      next = next ? std::min(*next, *flight->due_) : *flight->due_;
    }
  }
  return next;
}

void Flights::Close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  for (Flight* flight : flights_) flight->context_.TryCancel();
}

}  // namespace baton::routing
