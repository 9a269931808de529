#include "core/failed_activations.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/may_claim.h"

namespace baton::core {
namespace {

constexpr Duration kFirstBackoff = std::chrono::milliseconds(100);
constexpr Duration kLongestBackoff = std::chrono::seconds(5);
constexpr Duration kReleaseEvery = std::chrono::seconds(1);
constexpr Duration kSayEvery = std::chrono::seconds(1);

// Half of it is jitter, so that the shards of a failure don't stay in step.
Duration Backoff(const Context& context, std::uint32_t failures) {
  Duration backoff = kFirstBackoff;
  for (std::uint32_t i = 1; i < failures && backoff < kLongestBackoff; ++i) backoff *= 2;
  backoff = std::min(backoff, kLongestBackoff);
  const auto half = static_cast<std::uint64_t>((backoff / 2).count());
  return backoff / 2 + Duration(context.options.random() % (half + 1));
}

// Whether the shard came here because it failed on a node that is not failing: then the cause is
// probably the shard's. A node that joins may get many of these before any other.
bool FailedElsewhere(const Context& context, ShardId shard) {
  const RecordFact& record = context.view.record(shard);
  if (record.reason != Reason::kCallbackTimeout) return false;
  const MemberFact* const from = context.view.member(record.previous);
  return from == nullptr || !from->failing;
}

}  // namespace

void FailedActivations::Failed(Context& context, ShardId shard, const Try& failed) {
  Record(context, shard, failed);
  failures_.at(shard).late = false;
  Schedule(context, shard);
}

// It does not count as running any more: others must not wait for it for ever.
void FailedActivations::Late(Context& context, ShardId shard, OperationId operation) {
  Record(context, shard, {operation, "it has not returned in time, and still runs"});
  failures_.at(shard).late = true;
  hopeless_.insert(shard);
  Left(operation);
}

// A shard whose callback began before one that succeeded is no sign that the node fails. Callbacks
// that hang are found late, when all that began beside them have succeeded long ago.
void FailedActivations::Record(Context& context, ShardId shard, const Try& failed) {
  Failure& failure = failures_[shard];
  if (failure.failures == 0) {
    failure.since = context.now;
    if (failed.operation > succeeded_ && !FailedElsewhere(context, shard)) {
      NoteFailing(context, shard);
    }
  }
  failed_before_.insert(shard);
  ++failure.failures;
  ++failure.backoffs;
  ++total_;
  failure.error = failed.error;
  if (failure.failures >= kFailuresBeforeOtherTry) hopeless_.insert(shard);
  Say(context, shard, failure);
}

// Shards that have failed since before the last success don't count: the cause is theirs. Neither
// do those that failed long ago, and then went elsewhere: each may have had a cause of its own.
void FailedActivations::NoteFailing(Context& context, ShardId shard) {
  if (failing_since_) return;
  std::erase_if(began_to_fail_, [&](const auto& entry) {
    return !Has(entry.first) && context.now >= entry.second + kFailingFor;
  });
  began_to_fail_[shard] = context.now;
  if (began_to_fail_.size() < (failed_long_ ? 1 : kShardsBeforeFailing)) return;
  failing_since_ = context.now;
  proven_ = false;
  for (const ShardId before : failed_before_) {
    if (InLine(before)) Wait(before, true);  // it joined the line while an earlier success counted
  }
  first_tries_failing_ = 0;
  first_try_not_before_ = context.now + kFirstBackoff;
  Advance(context);
}

// Whether the node had better wait for one of the shards that it has. If it has not tried all, the
// next one may show that the cause is gone. If the cause is common, another shard would show
// nothing. A shard that fails here and moved for another reason may fail everywhere, so it shows
// nothing.
bool FailedActivations::BetterWaits(const Context& context) const {
  return !untried_.empty() || FailuresAreCommon(context.view);
}

void FailedActivations::EndFailing() {
  failing_since_.reset();
  says_failing_ = false;
  began_to_fail_.clear();
}

// A cause that is gone leaves no trace if the node has nothing left to try but shards that fail
// everywhere. So after a while the node takes a shard again; if that fails too, everything is as
// before, for twice as long.
void FailedActivations::Advance(Context& context) {
  if (!failing_since_) return;
  const TimePoint said = *failing_since_ + kFailingBeforeSaid;
  if (context.now < said) return context.WakeAt(said);
  if (!std::exchange(says_failing_, true)) {
    context.Say(Notice::Level::kError,
                "acquired fails on this node and has not succeeded since: it gets no more shards "
                "until it succeeds, unless it fails on most nodes");
  }
  TimePoint until = *failing_since_ + failing_for_;
  if (context.now >= until && BetterWaits(context)) until = *failing_since_ + kFailingFor;
  if (context.now < until) return context.WakeAt(until);
  failing_for_ = std::min(2 * failing_for_, kFailingFor);
  EndFailing();
  failed_long_ = true;
  starts_over_until_ = context.now + kOtherTryAfterCommonCause;
}

void FailedActivations::Succeeded(Context& context, ShardId shard, OperationId operation) {
  const bool retried = failures_.contains(shard) || failing_since_;
  succeeded_ = std::max(succeeded_, operation);
  failed_before_.clear();
  Forget(shard);
  if (says_failing_) {
    context.Say(Notice::Level::kInfo, "acquired succeeds on this node again: it takes shards");
  }
  EndFailing();
  failing_for_ = kFirstFailingFor;
  proven_ = true;
  failed_long_ = false;
  proven_tries_.merge(first_tries_);
  if (!retried || context.now < release_not_before_) return;
  release_not_before_ = context.now + kReleaseEvery;
  by_time_.clear();
  for (auto& [waiting, due] : waiting_) {
    due = std::min(due, context.now);
    by_time_.emplace(due, waiting);
  }
}

void FailedActivations::Schedule(Context& context, ShardId shard) {
  const auto found = failures_.find(shard);
  BATON_CHECK(found != failures_.end());
  if (const auto waiting = waiting_.find(shard); waiting != waiting_.end()) {
    by_time_.erase({waiting->second, shard});
  }
  const TimePoint due = context.now + Backoff(context, found->second.backoffs);
  waiting_[shard] = due;
  by_time_.emplace(due, shard);
}

// If the shard is being tried at this moment, that try goes on, and a next one follows soon.
void FailedActivations::RetryNow(ShardId shard) {
  const auto found = failures_.find(shard);
  BATON_CHECK(found != failures_.end());
  found->second.backoffs = 0;
  const auto waiting = waiting_.find(shard);
  if (waiting == waiting_.end()) return;
  by_time_.erase({waiting->second, shard});
  waiting->second = TimePoint::min();  // before all others that are due
  by_time_.emplace(waiting->second, shard);
  retry_now_.insert(shard);
}

void FailedActivations::Forget(ShardId shard) {
  failures_.erase(shard);
  retry_now_.erase(shard);
  hopeless_.erase(shard);
  LeaveLine(shard);
  const auto waiting = waiting_.find(shard);
  if (waiting == waiting_.end()) return;
  by_time_.erase({waiting->second, shard});
  waiting_.erase(waiting);
}

void FailedActivations::ForgetApplication() {
  failed_long_ = failed_long_ || failing_since_;
  EndFailing();
  failing_for_ = kFirstFailingFor;
  proven_ = false;
  failed_before_.clear();
}

bool FailedActivations::Ready(Context& context) const {
  if (by_time_.empty() || Full()) return false;
  if (by_time_.begin()->first <= context.now) return true;
  context.WakeAt(by_time_.begin()->first);
  return false;
}

ShardId FailedActivations::Next() {
  BATON_CHECK(!by_time_.empty());
  const ShardId shard = by_time_.begin()->second;
  by_time_.erase(by_time_.begin());
  waiting_.erase(shard);
  return shard;
}

bool FailedActivations::Waits(ShardId shard) const {
  return waiting_.contains(shard) || InLine(shard) || Late(shard);
}

bool FailedActivations::Late(ShardId shard) const {
  const auto found = failures_.find(shard);
  return found != failures_.end() && found->second.late;
}

// ---- first tries -------------------------------------------------------------------------------

void FailedActivations::Returned(OperationId operation) {
  running_.erase(operation);
  left_retries_.erase(operation);
  first_tries_.erase(operation);
  left_first_tries_.erase(operation);
  proven_tries_.erase(operation);
}

void FailedActivations::Left(OperationId operation) {
  if (running_.erase(operation) > 0) left_retries_.insert(operation);
  if (first_tries_.erase(operation) > 0) left_first_tries_.insert(operation);
  proven_tries_.erase(operation);
}

std::size_t FailedActivations::Width() const {
  if (failing_since_) return 0;  // see NextUntried
  if (proven_) return kUnbounded;
  return failed_long_ ? 1 : kFirstTriesUnproven;
}

// If the cause is common, this node is no worse than others, and they may have to give it shards.
std::size_t FailedActivations::Room(const Context& context) const {
  const std::size_t width = Width();
  const bool bounded = context.options.has_listener && width != kUnbounded;
  if (!bounded || FailuresAreCommon(context.view)) return kUnbounded;
  const std::size_t taken = first_tries_.size() + untried_.size();
  return taken < width ? width - taken : 0;
}

// The shard may have waited: a handoff that failed gives it back while others wait.
void FailedActivations::StartedFirst(ShardId shard, OperationId operation) {
  LeaveLine(shard);
  (proven_ ? proven_tries_ : first_tries_).insert(operation);
}

// While the node is failing, a few are tried, with a backoff.
std::optional<ShardId> FailedActivations::NextUntried(Context& context) {
  if (untried_.empty()) return std::nullopt;
  if (failing_since_) {
    const bool full = first_tries_.size() >= kFirstTriesFailing || FirstTriesFull();
    if (full) return std::nullopt;  // a return steps the core again
    if (context.now < first_try_not_before_) {
      context.WakeAt(first_try_not_before_);
      return std::nullopt;
    }
    if (++first_tries_failing_ % kFirstTriesFailing == 0) {
      first_try_not_before_ =
          context.now + Backoff(context, first_tries_failing_ / kFirstTriesFailing);
    }
  } else if (!MayTryFirst(context.options)) {
    return std::nullopt;
  }
  const ShardId shard = untried_.begin()->second;
  untried_.erase(untried_.begin());
  return shard;
}

// A failure can hit all shards at once, so most of them are only counted.
void FailedActivations::Say(Context& context, ShardId shard, const Failure& failure) {
  if (failure.failures > 1 || context.now < say_not_before_) return;
  say_not_before_ = context.now + kSayEvery;
  context.Say(Notice::Level::kError,
              "shard " + std::to_string(shard.value) + ": acquired failed: " + failure.error +
                  "; it is tried again here, and once on another node (" +
                  std::to_string(failures_.size()) + " of this node's shards fail)");
}

}  // namespace baton::core
