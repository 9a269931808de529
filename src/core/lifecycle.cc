#include "core/lifecycle.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "core/may_claim.h"

namespace baton::core {
namespace {

// Etcd must be away if nothing that was resigned is gone after this time. Then the lease expires.
constexpr Duration kResignBound = std::chrono::seconds(5);

// Whether no other node may lead any of what is left here.
bool NobodyTakesOver(const Context& context, const Leaderships& leaderships) {
  const View& view = context.view;
  if (!AnotherMayLead(view, context.self())) return true;
  const auto& held = leaderships.held();
  return !view.rules().empty() && std::none_of(held.begin(), held.end(), [&](const auto& entry) {
    return AnotherMayLead(view, context.self(), entry.first);
  });
}

}  // namespace

void Lifecycle::Drain(TimePoint deadline) {
  if (running()) stage_.emplace<Draining>().deadline = deadline;
}

void Lifecycle::Stop(TimePoint now) {
  if (running()) stage_ = Draining{};
  if (auto* draining = std::get_if<Draining>(&stage_)) {
    draining->deadline = now;
    draining->resigned_all_at = now - kResignBound;
  }
}

void Lifecycle::Halt(const Error& why, bool leave_lease) {
  BATON_CHECK(!halted());
  if (auto* closing = std::get_if<Closing>(&stage_)) {
    closing->halted = why;
  } else if (auto* ended = std::get_if<Ended>(&stage_)) {
    ended->halted = why;
  } else {
    stage_ = Halting{.why = why, .leave_lease = leave_lease};
  }
}

void Lifecycle::SessionLost(bool held) {
  auto* draining = std::get_if<Draining>(&stage_);
  if (draining != nullptr && held) draining->in_time = false;
}

bool Lifecycle::GivesAway(Context& context, Leaderships& leaderships) {
  auto& draining = std::get<Draining>(stage_);
  const bool late = context.now >= draining.deadline;
  const bool keeps = KeepsShardsFor(context.view, context.self());
  // If the application was asked to release shards, that goes on even if another node appears.
  const bool resigns =
      late || keeps || NobodyTakesOver(context, leaderships) || leaderships.AskedToResign();
  if (!leaderships.held().empty() && resigns) {
    if (late) draining.in_time = false;
    ResignAll(context, leaderships, late, keeps, draining);
  }
  const auto since = draining.resigned_all_at;
  const bool gave_up = since && context.now >= *since + kResignBound;
  if (!leaderships.held().empty() && !gave_up) {
    context.WakeAt(since ? *since + kResignBound : draining.deadline);
    return false;
  }
  // A node that leads nothing would be gone before others know that it leaves, and the brake would
  // count it. While no renewal is confirmed, nothing can be written.
  if (!late && context.live() && !context.session.SaysThatItLeaves(context.view)) {
    context.WakeAt(draining.deadline);
    return false;
  }
  if (!leaderships.held().empty()) draining.in_time = false;
  return true;
}

void Lifecycle::ResignAll(Context& context, Leaderships& leaderships, bool late, bool keeps,
                          Draining& draining) {
  const FailoverSettings& failover = context.view.failover();
  const bool immediate = failover.policy == FailoverPolicy::kImmediate;
  const bool ask = !late && (keeps || failover.lock_delay.count() > 0);
  // The time limit starts again with every progress: many shards take many batches.
  const std::size_t left = leaderships.held().size();
  if (keeps && !draining.resigned_all_at) {
    context.Say(Notice::Level::kInfo, "this node's shards (" + std::to_string(left) +
                                          ") will wait for it, as failover is '" +
                                          ToString(failover.policy) + "'");
  }
  const bool asking = (ask || context.options.external) && leaderships.Asking();
  const bool progress = left < draining.left_to_resign || asking;
  if (!draining.resigned_all_at || progress) draining.resigned_all_at = context.now;
  draining.left_to_resign = left;
  // also shards gained since the last step
  leaderships.ResignAll(context, immediate || keeps ? Reason::kShutdown : Reason::kDrain, ask);
}

bool Lifecycle::Close() {
  BATON_CHECK(!running() && !closing() && !finished());
  Closing closing;
  bool leave_lease = false;
  if (const auto* draining = std::get_if<Draining>(&stage_)) {
    closing.in_time = draining->in_time;
  } else if (const auto* halting = std::get_if<Halting>(&stage_)) {
    closing.halted = halting->why;
    leave_lease = halting->leave_lease;
  }
  stage_ = std::move(closing);
  return leave_lease;
}

Lifecycle::Closing Lifecycle::Finish() {
  Closing closing = std::get<Closing>(stage_);
  stage_ = Ended{closing.halted};
  return closing;
}

std::optional<Error> Lifecycle::halted() const {
  if (const auto* halting = std::get_if<Halting>(&stage_)) return halting->why;
  if (const auto* closing = std::get_if<Closing>(&stage_)) return closing->halted;
  if (const auto* ended = std::get_if<Ended>(&stage_)) return ended->halted;
  return std::nullopt;
}

}  // namespace baton::core
