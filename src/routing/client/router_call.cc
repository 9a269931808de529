#include "routing/client/router_call.h"

#include <algorithm>
#include <random>
#include <utility>

#include <fmt/format.h>

#include "routing/request_metadata.h"

namespace baton::routing {
namespace {

void Count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

std::chrono::milliseconds WholeMilliseconds(Duration duration) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

// Adds the address, which the status alone doesn't name. The server may lack the method, or the
// application may have answered so.
grpc::Status ExplainUnimplemented(const grpc::Status& status, const std::string& address) {
  std::string line = address + " answered UNIMPLEMENTED";
  if (!status.error_message().empty()) line += ": " + status.error_message();
  line += "; if " + address + " is not the application's, correct the leader's service address";
  return {status.error_code(), line, status.error_details()};
}

std::string Words(Duration duration) {
  return std::to_string(WholeMilliseconds(duration).count()) + " ms";
}

}  // namespace

RouterCall::RouterCall(const CallParts& parts, ShardId shard, TimePoint deadline,
                       const CallOptions& options, std::string request_id)
    : parts_(parts),
      shard_(shard),
      begun_(BootClock::now()),
      deadline_(deadline),
      options_(options),
      request_id_(std::move(request_id)) {}

grpc::Status RouterCall::Run(const Router::Attempt& attempt) {
  for (;;) {
    const RouteStore::Newest found = parts_.store.Find(shard_);
    if (parts_.store.closed() || BootClock::now() >= deadline_) return GiveUp(found.route);
    const std::optional<Destination> destination = Choose(found.route);
    if (!destination) {
      Await(found, deadline_);
      continue;
    }
    switch (Try(*destination, found, attempt)) {
      case Outcome::kAnswered: return Answer(parts_.counters.failed);
      case Outcome::kElsewhere:
        if (GoOnAtOnce(*destination)) continue;
        // A hint of a leader that was itself only hinted at does not outlive the pause.
        if (destination->term > found.route.term) hint_.reset();
        break;
      case Outcome::kReplaced: continue;
      case Outcome::kNotNow: break;
      case Outcome::kUnknown:
        if (!options_.retry_unknown) return Answer(parts_.counters.unknown);
        break;
    }
    Await(found, BootClock::now() + NextBackoff());
  }
}

// The leader in the table or the one in the hint, whichever has the greater term.
std::optional<RouterCall::Destination> RouterCall::Choose(const Route& route) const {
  if (hint_ && hint_->term > route.term) return Destination{hint_->address, hint_->term};
  if (route.leader.empty() || route.address.empty()) return std::nullopt;
  return Destination{std::string(route.address), route.term};
}

RouterCall::Outcome RouterCall::Try(const Destination& destination, const RouteStore::Newest& found,
                                    const Router::Attempt& attempt) {
  told_wait_.reset();
  const TimePoint begun = BootClock::now();
  const auto channel = parts_.channels.Get(destination.address, begun);
  if (const Connection connection = Connect(*channel, found); connection != Connection::kReady) {
    if (connection == Connection::kFailing) {
      parts_.channels.Unanswered(destination.address, channel.get(), begun, BootClock::now(),
                                 ChannelCache::Lack::kConnection);
    }
    last_ = {grpc::StatusCode::UNAVAILABLE, "no connection"};
    last_address_ = destination.address;
    hint_.reset();  // a hint to an unreachable leader must not block the call
    return Outcome::kNotNow;
  }
  const TimePoint now = BootClock::now();
  if (now >= deadline_) return Outcome::kNotNow;
  TimePoint until = deadline_;
  // In milliseconds, because the longest attempt time would overflow as nanoseconds.
  if (options_.attempt.count() > 0 && options_.attempt < WholeMilliseconds(deadline_ - now)) {
    until = now + options_.attempt;
  }
  grpc::ClientContext context;
  context.set_deadline(MonotonicDeadline(until - now));
  InFlightAttempts::Attempt in_flight(parts_.in_flight_attempts, shard_, destination.term,
                                      options_.retry_unknown, context);
  // A route that changed before the attempt was registered would otherwise go unnoticed.
  if (Choose(parts_.store.Find(shard_).route) != destination) return Outcome::kReplaced;
  ++attempts_;
  Count(parts_.counters.attempts);
  AddMetadata(context, {.group = parts_.group,
                        .shard = shard_,
                        .term = destination.term,
                        .request_id = request_id_,
                        .attempt = attempts_});
  last_address_ = destination.address;
  last_ = attempt(channel, context);
  const bool superseded = in_flight.superseded();
  const Outcome outcome = Judge(destination, until, superseded);
  NoteAnswer(destination, *channel, now, superseded, outcome);
  return outcome;
}

// Whether the server is behind the connection at all. UNAVAILABLE says nothing: if the connection
// ended, gRPC makes another one. Nor does a DEADLINE_EXCEEDED before the attempt's time: it may be
// the server's, or that of a deadline which the application has set.
void RouterCall::NoteAnswer(const Destination& destination, const grpc::Channel& channel,
                            TimePoint begun, bool superseded, Outcome outcome) {
  const bool late = last_.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  const bool cancelled = last_.error_code() == grpc::StatusCode::CANCELLED;
  const TimePoint now = BootClock::now();
  if ((late && outcome == Outcome::kUnknown) || (cancelled && superseded)) {
    parts_.channels.Unanswered(destination.address, &channel, begun, now,
                               ChannelCache::Lack::kAnswer);
  } else if (!cancelled && !late && last_.error_code() != grpc::StatusCode::UNAVAILABLE) {
    parts_.channels.Answered(destination.address, &channel, now);
  }
}

// On a channel without a connection a call fails in the same way as when a connection breaks. Only
// waiting for the connection first proves that nothing was sent.
RouterCall::Connection RouterCall::Connect(grpc::Channel& channel,
                                           const RouteStore::Newest& found) {
  bool failing = false;
  for (;;) {
    const grpc_connectivity_state state = channel.GetState(true);
    if (state == GRPC_CHANNEL_READY) return Connection::kReady;
    const TimePoint now = BootClock::now();
    if (now >= deadline_ || state == GRPC_CHANNEL_SHUTDOWN || parts_.store.closed())
      return Connection::kNone;
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE && std::exchange(failing, true))
      return Connection::kFailing;
    if (parts_.store.Find(shard_).changes != found.changes) return Connection::kNone;
    channel.WaitForStateChange(state, MonotonicDeadline(std::min(kConnectTurn, deadline_ - now)));
  }
}

RouterCall::Outcome RouterCall::Judge(const Destination& destination, TimePoint attempt_deadline,
                                      bool superseded) {
  Outcome outcome = Outcome::kAnswered;
  switch (last_.error_code()) {
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::UNAVAILABLE: outcome = TakeRefusal(destination, DetailsOf(last_)); break;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      // A DEADLINE_EXCEEDED before the deadline is the application's own answer.
      if (BootClock::now() + std::chrono::milliseconds(1) >= attempt_deadline) {
        outcome = Outcome::kUnknown;
      }
      break;
    case grpc::StatusCode::CANCELLED:
      // Cancelled by this router, or by a server that shuts down after it accepted the request.
      if (superseded) Count(parts_.counters.superseded);
      outcome = Outcome::kUnknown;
      break;
    case grpc::StatusCode::UNIMPLEMENTED:
      last_ = ExplainUnimplemented(last_, destination.address);
      break;
    default: break;
  }
  if (outcome == Outcome::kUnknown) unknown_attempt_ = attempts_;
  // The hinted leader may be gone, or the hint may be false. The table will name the leader, or the
  // table's leader will give the hint again.
  if (outcome != Outcome::kElsewhere) hint_.reset();
  return outcome;
}

RouterCall::Outcome RouterCall::TakeRefusal(const Destination& destination,
                                            const RefusalDetails& details) {
  switch (last_.error_code()) {
    case grpc::StatusCode::FAILED_PRECONDITION: {
      if (!IsMisroute(last_, details, parts_.group, shard_)) return Outcome::kAnswered;
      Count(parts_.counters.misroutes);
      hint_ = HintOf(details);
      if (hint_ && (hint_->term <= destination.term || !IsUsable(hint_->address, parts_.addresses)))
        hint_.reset();
      return Outcome::kElsewhere;
    }
    case grpc::StatusCode::ABORTED:
      return details.reason == kStaleTerm ? Outcome::kUnknown : Outcome::kAnswered;
    default:
      told_wait_ = details.retry_after;
      // Any other UNAVAILABLE may come from anywhere; its RetryInfo is only used as a pause.
      if (details.reason != kNoLeader) return Outcome::kUnknown;
      return IsOfCall(details, parts_.group, shard_) ? Outcome::kNotNow : Outcome::kAnswered;
  }
}

/// After NOT_LEADER: whether to follow a leader with a greater term at once, within max_hops.
bool RouterCall::GoOnAtOnce(const Destination& destination) {
  const bool newer = hint_ || parts_.store.Find(shard_).route.term > destination.term;
  if (!newer || hops_ >= options_.max_hops) return false;
  ++hops_;
  if (hint_) Count(parts_.counters.redirects);
  return true;
}

bool RouterCall::Await(const RouteStore::Newest& found, TimePoint until) {
  hops_ = 0;
  Count(parts_.counters.waits);
  return parts_.store.Await(shard_, found.changes, std::min(until, deadline_));
}

Duration RouterCall::NextBackoff() {
  thread_local std::minstd_rand random(std::random_device{}());
  const Duration longest =
      std::max<Duration>(backoff_, told_wait_.value_or(std::chrono::milliseconds(0)));
  backoff_ = std::min(backoff_ * 2, kLongestBackoff);
  // Waits at least as long as RetryInfo says; without it, between half of the backoff and all of
  // it.
  const Duration least = told_wait_ ? *told_wait_ : longest / 2;
  const Duration most = told_wait_ ? longest + *told_wait_ / 2 : longest;
  return Duration{std::uniform_int_distribution<std::int64_t>(least.count(), most.count())(random)};
}

grpc::Status RouterCall::GiveUp(const Route& route) {
  const bool stopped = parts_.store.closed();
  std::string line = fmt::format("shard {} of group {}: ", shard_.value, parts_.group);
  line += stopped ? "the router was stopped" : "gave up after " + Words(BootClock::now() - begun_);
  if (attempts_ > 0) line += fmt::format(", {} attempt{}", attempts_, attempts_ > 1 ? "s" : "");
  if (unknown_attempt_ > 0) {
    line += fmt::format("; attempt {} may have taken effect", unknown_attempt_);
  } else {
    line += "; nothing took effect";
  }
  if (route.leader.empty()) {
    line += "; nobody leads it";
  } else if (route.address.empty()) {
    line += "; its leader " + std::string(route.leader) +
            " has no service address (host:port): give batond --service-address, or set "
            "NodeOptions::service_address";
  }
  if (!last_.ok()) line += fmt::format("; last from {}: {}", last_address_, last_.error_message());
  if (unknown_attempt_ == 0) {
    Count(parts_.counters.unavailable);
    return StatusOf(
        {.code = grpc::StatusCode::UNAVAILABLE,
         .message = line,
         .reason = kNoLeader,
         .metadata = {{kGroupDetail, parts_.group}, {kShardDetail, std::to_string(shard_.value)}},
         .retry_after = told_wait_.value_or(WholeMilliseconds(kLongestBackoff))});
  }
  Count(parts_.counters.unknown);
  return {stopped ? grpc::StatusCode::CANCELLED : grpc::StatusCode::DEADLINE_EXCEEDED, line};
}

grpc::Status RouterCall::Answer(std::atomic<std::uint64_t>& otherwise) {
  Count(last_.ok() ? parts_.counters.ok : otherwise);
  return std::move(last_);
}

}  // namespace baton::routing
