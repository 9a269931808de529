#include "routing/server/route_hub.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/escape.h"
#include "base/text_rules.h"

namespace baton::routing {
namespace {

using runtime::RouteBatch;
using runtime::RouteGroup;
using runtime::ViewRoute;

const Error kNotRead{ErrorCode::kUnavailable,
                     "the group has not been read yet: try again, or ask another node or relay"};
const Error kSlow{ErrorCode::kUnavailable,
                  "a message was not read within a minute: open the stream again"};
const Error kGone{ErrorCode::kUnavailable, "the caller is gone"};

/// The state may end although the route's revision stays. Only the shard's leader knows the first
/// two states. A read may skip a whole move.
bool MayEndUnseen(const ViewRoute& route) {
  return route.state == ShardState::kActivating || route.state == ShardState::kSuspended ||
         route.state == ShardState::kMoving;
}

/// Adds the route, unless the list has `most` already.
void Append(RouteList& list, const ViewRoute& route, std::size_t most) {
  list.too_long = list.routes.size() >= most;
  if (list.too_long) {
    list.routes = {};
  } else {
    list.routes.push_back(route);
  }
}

}  // namespace

// ---- the table ---------------------------------------------------------------------------------

void RouteHub::Apply(const RouteBatch& batch, TimePoint now) {
  if (ended_) return;
  if (group_ == nullptr) {
    table_.resize(batch.group->shards);
    blocks_.resize((table_.size() + kBlock - 1) / kBlock);
    pages_.resize((table_.size() + kPage - 1) / kPage);
    page_changed_.resize(pages_.size());
    beat_at_ = now + kHeartbeat;
  }
  group_ = batch.group;
  revision_ = batch.revision;
  proven_at_ = batch.proven_at;
  stale_after_ = batch.stale_after;
  if (batch.routes.empty()) return ReadyUnchecked();
  ++last_delta_;
  Store(batch);
  Keep(batch, now);
  AnswerPolls(batch, now);
  all_ready_ = true;
}

void RouteHub::Store(const RouteBatch& batch) {
  for (const ViewRoute& route : batch.routes) {
    Entry& entry = table_[route.shard.value];
    Block& block = blocks_[route.shard.value / kBlock];
    block.delta = last_delta_;
    block.revision = std::max(block.revision, route.revision);
    newest_ = std::max(newest_, route.revision);
    block.may_end_unseen += MayEndUnseen(route) ? 1 : 0;
    block.may_end_unseen -= MayEndUnseen(entry.route) ? 1 : 0;
    entry = {route, last_delta_};
    page_changed_[route.shard.value / kPage] = last_delta_;
  }
}

// Encodes the delta for all streams. A delta that is too large for one message is sent by passes.
void RouteHub::Keep(const RouteBatch& batch, TimePoint now) {
  if (streams_.empty() || batch.routes.size() > kPage) {
    deltas_.clear();
    delta_bytes_ = 0;
    return;
  }
  std::vector<const ViewRoute*> routes;
  routes.reserve(batch.routes.size());
  for (const ViewRoute& route : batch.routes) routes.push_back(&route);
  deltas_.push_back({last_delta_, EncodeRoutes(routes), EncodeWords(Words(now))});
  delta_bytes_ += deltas_.back().routes->size();
  ++counts_.deltas_encoded;
  while (deltas_.size() > kKeptDeltas || (deltas_.size() > 1 && delta_bytes_ > kKeptBytes)) {
    delta_bytes_ -= deltas_.front().routes->size();
    deltas_.pop_front();
  }
}

void RouteHub::End(const Error& why) {
  if (ended_) return;
  ended_ = why;
  for (auto& [id, stream] : std::exchange(streams_, {})) stream.sink->End(why);
  for (auto& [deadline, poll] : std::exchange(polls_, {})) poll.answer(why);
  ready_.clear();
}

std::optional<Error> RouteHub::Trouble() const {
  if (ended_) return ended_;
  if (group_ == nullptr) return kNotRead;
  return std::nullopt;
}

std::optional<Error> RouteHub::Trouble(std::string_view group) const {
  if (auto trouble = Trouble()) return trouble;
  if (group.empty() || group == group_->group) return std::nullopt;
  return Error{ErrorCode::kNotFound, fmt::format("no group '{}' here; this is group '{}'",
                                                 OneLine(group, kLongestName), group_->group)};
}

ViewWords RouteHub::Words(TimePoint now) const {
  return {.complete_to = revision_,
          .age = std::max(Duration{0}, now - proven_at_),
          .stale = Stale(now)};
}

// ---- streams -----------------------------------------------------------------------------------

Status RouteHub::Add(StreamId id, RouteSink& sink, const RouteRequest& request) {
  if (const auto trouble = Trouble(request.group)) return *trouble;
  const bool holds = request.after.value > 0 || request.incarnation != 0;
  const bool anew = holds && request.incarnation != group_->incarnation;
  Stream stream{.sink = &sink, .opening = EncodeOpening(*group_, anew)};
  stream.pass = Pass{.after = anew ? Revision{} : request.after,
                     .begun_at = last_delta_,
                     .complete_to = revision_};
  // A caller that gets all routes has nothing left of what others told it.
  if (request.after.value > 0 && !anew && request.came != TimePoint::max()) {
    stream.unchecked_since = request.came;
  }
  streams_.emplace(id, std::move(stream));
  ready_.push_back(id);
  return Ok();
}

void RouteHub::Written(StreamId id) {
  const auto found = streams_.find(id);
  if (found == streams_.end()) return;
  found->second.writing = false;
  ready_.push_back(id);
}

void RouteHub::Remove(StreamId id) {
  const auto found = streams_.extract(id);
  if (!found.empty()) found.mapped().sink->End(kGone);
}

TimePoint RouteHub::Advance(TimePoint now) {
  ExpirePolls(now);
  if (std::exchange(all_ready_, false)) {
    ready_.clear();
    for (auto& [id, stream] : streams_) Serve(stream, now);
  } else {
    for (const StreamId id : std::exchange(ready_, {})) {
      const auto found = streams_.find(id);
      if (found != streams_.end()) Serve(found->second, now);
    }
  }
  TimePoint next = polls_.empty() ? TimePoint::max() : polls_.begin()->first;
  if (Trouble() || streams_.empty()) return next;
  const bool turned = Stale(now) != told_stale_;
  if (turned || now >= beat_at_) Beat(now);
  if (!told_stale_) next = std::min(next, proven_at_ + stale_after_ + Duration{1});
  return std::min(next, beat_at_);
}

void RouteHub::Serve(Stream& stream, TimePoint now) {
  if (stream.writing) return;
  if (MayCheck(stream, now)) return SendCheck(stream, now);
  if (!stream.pass && stream.delta == last_delta_) return;
  const bool fell_behind =
      !stream.pass && (deltas_.empty() || stream.delta + 1 < deltas_.front().number);
  if (fell_behind) {
    ++counts_.catch_ups;
    stream.pass = Pass{.after_delta = stream.delta,
                       .begun_at = last_delta_,
                       .complete_to = revision_,
                       .snapshot = false};
  }
  if (stream.pass) return SendPass(stream, now);
  const Delta& delta = deltas_[stream.delta + 1 - deltas_.front().number];
  stream.delta = delta.number;
  Send(stream, {{delta.routes, delta.words}}, now);
}

void RouteHub::Send(Stream& stream, RouteMessage message, TimePoint now) {
  stream.writing = true;
  stream.writing_since = now;
  ++counts_.messages;
  stream.sink->Write(message);
}

void RouteHub::SendPass(Stream& stream, TimePoint now) {
  Pass& pass = *stream.pass;
  RouteMessage message;
  if (stream.opening != nullptr) message.parts.push_back(std::exchange(stream.opening, nullptr));
  if (Bytes page = NextPage(pass)) message.parts.push_back(std::move(page));
  ViewWords words = Words(now);
  const bool over = pass.position == table_.size();
  words.snapshot_end = over && pass.snapshot;
  words.complete_to = over ? pass.complete_to : Revision{};
  message.parts.push_back(EncodeWords(words));
  if (over) {
    stream.delta = pass.begun_at;
    stream.pass.reset();
  }
  Send(stream, std::move(message), now);
}

// The next routes of the pass; null if no route is left.
Bytes RouteHub::NextPage(Pass& pass) {
  const auto end = static_cast<std::uint32_t>(table_.size());
  if (pass.snapshot && pass.position % kPage == 0) {
    if (Bytes shared = SharedPage(pass)) {
      pass.position = std::min(pass.position + kPage, end);
      return shared;
    }
  }
  while (pass.position < end && pass.position % kBlock == 0 && !MayHave(pass)) {
    pass.position = std::min(pass.position + kBlock, end);
  }
  if (*private_bytes_ >= kPrivateBytes && pass.position < end) {
    ++counts_.shared_instead;
    const std::size_t index = pass.position / kPage;
    pass.position = std::min(static_cast<std::uint32_t>(index + 1) * kPage, end);
    return WholePage(index);
  }
  std::vector<const ViewRoute*> routes;
  while (pass.position < end && routes.size() < kPage) {
    if (pass.position % kBlock == 0 && !MayHave(pass)) {
      pass.position = std::min(pass.position + kBlock, end);
      continue;
    }
    const Entry& entry = table_[pass.position++];
    ++counts_.looked_at;
    if (InPass(entry, pass)) routes.push_back(&entry.route);
  }
  if (routes.empty()) return nullptr;
  return PrivatePage(routes);
}

Bytes RouteHub::PrivatePage(const std::vector<const ViewRoute*>& routes) {
  ++counts_.pages_encoded;
  const Bytes bytes = EncodeRoutes(routes);
  *private_bytes_ += bytes->size();
  return {bytes.get(),
          [bytes, left = private_bytes_](const std::string*) { *left -= bytes->size(); }};
}

// The shared page at the pass's position, if the stream wants all of its routes; else null.
Bytes RouteHub::SharedPage(const Pass& pass) {
  const std::size_t index = pass.position / kPage;
  Page& page = pages_[index];
  if (page.bytes == nullptr || page.delta < page_changed_[index]) {
    const std::size_t end = std::min<std::size_t>(pass.position + kPage, table_.size());
    for (std::size_t s = pass.position; s < end; ++s) {
      if (table_[s].route.revision <= pass.after) return nullptr;  // usually the first one
    }
    WholePage(index);
  }
  return page.least > pass.after ? page.bytes : nullptr;
}

// A page with all of its routes, as they are now.
Bytes RouteHub::WholePage(std::size_t index) {
  Page& page = pages_[index];
  if (page.bytes != nullptr && page.delta >= page_changed_[index]) return page.bytes;
  const std::size_t end = std::min<std::size_t>((index + 1) * kPage, table_.size());
  std::vector<const ViewRoute*> routes;
  Revision least{std::numeric_limits<std::int64_t>::max()};
  for (std::size_t s = index * kPage; s < end; ++s) {
    routes.push_back(&table_[s].route);
    least = std::min(least, table_[s].route.revision);
  }
  ++counts_.pages_encoded;
  page = {EncodeRoutes(routes), last_delta_, least};
  return page.bytes;
}

bool RouteHub::InPass(const Entry& entry, const Pass& pass) const {
  if (!pass.snapshot) return entry.delta > pass.after_delta;
  return entry.route.revision > pass.after || MayEndUnseen(entry.route);
}

// Whether the block at the pass's position may have a route for it.
bool RouteHub::MayHave(const Pass& pass) const {
  const Block& block = blocks_[pass.position / kBlock];
  if (!pass.snapshot) return block.delta > pass.after_delta;
  return block.revision > pass.after || block.may_end_unseen > 0;
}

// Sends one message to all idle streams: the view's age, and how far their routes are complete.
void RouteHub::Beat(TimePoint now) {
  beat_at_ = now + kHeartbeat;
  told_stale_ = Stale(now);
  const RouteMessage beat{{EncodeWords(Words(now))}};
  for (auto& [id, stream] : streams_) {
    if (!stream.writing && !stream.pass && stream.delta == last_delta_) Send(stream, beat, now);
  }
  EndSlowReaders(now);
}

void RouteHub::EndSlowReaders(TimePoint now) {
  for (auto next = streams_.begin(); next != streams_.end();) {
    const auto at = next++;
    const Stream& stream = at->second;
    if (!stream.writing || now - stream.writing_since < kSlowReader) continue;
    ++counts_.slow_readers;
    streams_.extract(at).mapped().sink->End(kSlow);
  }
}

// ---- checks ------------------------------------------------------------------------------------

// The view, or its proof, has moved on: for some of the streams it may be time now.
void RouteHub::ReadyUnchecked() {
  for (const auto& [id, stream] : streams_) {
    if (stream.unchecked_since != TimePoint::max()) ready_.push_back(id);
  }
}

bool RouteHub::MayCheck(const Stream& stream, TimePoint now) const {
  if (stream.unchecked_since >= proven_at_ || newest_ > revision_) return false;
  if (stream.pass || stream.delta != last_delta_) return false;
  const bool known = !check_.empty() && checked_delta_ == last_delta_;
  return known || check_made_at_ == TimePoint::min() || now - check_made_at_ >= kCheckEvery;
}

void RouteHub::SendCheck(Stream& stream, TimePoint now) {
  if (check_.empty() || checked_delta_ != last_delta_) {
    std::vector<const ViewRoute*> routes;
    routes.reserve(table_.size());
    for (const Entry& entry : table_) routes.push_back(&entry.route);
    check_ = DigestOf(routes);
    checked_delta_ = last_delta_;
    check_made_at_ = now;
    ++counts_.tables_hashed;
  }
  stream.unchecked_since = TimePoint::max();
  ++counts_.checks;
  ViewWords words = Words(now);
  words.check = check_;
  Send(stream, {{EncodeWords(words)}}, now);
}

// ---- questions ---------------------------------------------------------------------------------

RouteList RouteHub::EmptyList(TimePoint now) const {
  const ViewWords words = Words(now);
  return {
      .group = group_, .revision = revision_, .age = words.age, .stale = words.stale, .routes = {}};
}

RouteList RouteHub::ListFor(const RoutePoll& poll, TimePoint now) {
  RouteList list = EmptyList(now);
  for (std::size_t begin = 0; begin < table_.size() && !list.too_long; begin += kBlock) {
    if (poll.after && blocks_[begin / kBlock].revision <= *poll.after) continue;
    const std::size_t end = std::min<std::size_t>(begin + kBlock, table_.size());
    counts_.looked_at += end - begin;
    for (std::size_t s = begin; s < end && !list.too_long; ++s) {
      const ViewRoute& route = table_[s].route;
      if (!poll.after || route.revision > *poll.after) Append(list, route, poll.most);
    }
  }
  return list;
}

void RouteHub::Poll(RoutePoll poll, TimePoint now) {
  if (const auto trouble = Trouble()) return poll.answer(*trouble);
  RouteList list = ListFor(poll, now);
  const bool some = !list.routes.empty() || list.too_long;
  if (some || poll.deadline <= now) return poll.answer(std::move(list));
  const TimePoint deadline = poll.deadline;
  polls_.emplace(deadline, std::move(poll));
}

// A linear search is enough: RouteServer bounds the number of polls, and few callers leave early.
void RouteHub::EndPoll(std::uint64_t id) {
  const auto found = std::find_if(polls_.begin(), polls_.end(),
                                  [id](const auto& entry) { return entry.second.id == id; });
  if (found != polls_.end()) polls_.extract(found).mapped().answer(kGone);
}

// Only a batch can answer a poll. A route of equal revision counts: its leader's own state changed.
void RouteHub::AnswerPolls(const RouteBatch& batch, TimePoint now) {
  for (auto next = polls_.begin(); next != polls_.end();) {
    const auto poll = next++;
    RouteList list = EmptyList(now);
    for (const ViewRoute& route : batch.routes) {
      if (list.too_long) break;
      if (route.revision >= *poll->second.after) Append(list, route, poll->second.most);
    }
    if (list.routes.empty() && !list.too_long) continue;
    polls_.extract(poll).mapped().answer(std::move(list));
  }
}

void RouteHub::ExpirePolls(TimePoint now) {
  while (!polls_.empty() && polls_.begin()->first <= now) {
    polls_.extract(polls_.begin()).mapped().answer(EmptyList(now));
  }
}

Result<RouteList> RouteHub::Lookup(ShardId shard, TimePoint now) const {
  if (const auto trouble = Trouble()) return *trouble;
  if (shard.value >= table_.size()) {
    return Error{ErrorCode::kNotFound, fmt::format("no shard {}: group {} has shards 0 to {}",
                                                   shard.value, group_->group, table_.size() - 1)};
  }
  RouteList list = EmptyList(now);
  list.routes.push_back(table_[shard.value].route);
  return list;
}

}  // namespace baton::routing
