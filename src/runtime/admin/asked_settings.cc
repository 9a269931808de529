#include "runtime/admin/asked_settings.h"

#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "base/duration_text.h"
#include "base/limits.h"
#include "core/group_change.h"
#include "runtime/admin/placement_proto.h"
#include "runtime/admin/proto_time.h"
#include "runtime/admin/status_proto.h"

namespace baton::runtime {
namespace {

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

/// Rounded up, so that a short one does not become none.
std::chrono::milliseconds CeilOf(const google::protobuf::Duration& duration) {
  return std::chrono::ceil<std::chrono::milliseconds>(NanosecondsOf(duration));
}

Status CheckNumber(const char* name, std::uint32_t number, std::uint32_t most) {
  if (number <= most) return Ok();
  return Invalid(fmt::format("{} is {}; give 1 to {}, or 0 to clear it", name, number, most));
}

Status CheckDelay(const char* name, const std::optional<LimitsChange::DelayOrder>& order) {
  if (!order || !order->delay) return Ok();
  if (order->delay->count() >= 0 && *order->delay <= kLongestDurationFlag) return Ok();
  return Invalid(fmt::format("{} is {}; give 0s to {}, or no delay to clear it", name,
                             FormatDuration(*order->delay), FormatDuration(kLongestDurationFlag)));
}

LimitsChange::DelayOrder OrderOf(const v1::DelaySetting& setting) {
  LimitsChange::DelayOrder order;
  if (setting.has_delay()) order.delay = CeilOf(setting.delay());
  return order;
}

LimitsChange LimitsOf(const v1::SetGroupSettingRequest& request) {
  LimitsChange change;
  if (request.has_max_moves()) change.max_moves = request.max_moves();
  const v1::LimitsChange& limits = request.limits();
  if (limits.has_max_moves()) change.max_moves = limits.max_moves();
  if (limits.has_rebalance_delay()) change.rebalance_delay = OrderOf(limits.rebalance_delay());
  if (limits.has_cooldown()) change.cooldown = OrderOf(limits.cooldown());
  return change;
}

Result<PolicyRequest> LimitsPolicyOf(const v1::SetGroupSettingRequest& request) {
  PolicyRequest policy;
  policy.verb = PolicyRequest::Verb::kSetLimits;
  policy.limits = LimitsOf(request);
  if (policy.limits.empty()) return Invalid("give at least one limit");
  for (const Status& sound :
       {CheckNumber("max_moves", policy.limits.max_moves.value_or(0), kMaxMoves),
        CheckDelay("rebalance_delay", policy.limits.rebalance_delay),
        CheckDelay("cooldown", policy.limits.cooldown)}) {
    if (!sound) return sound.error();
  }
  return policy;
}

std::string DelayText(const char* name, const std::optional<LimitsChange::DelayOrder>& order) {
  if (!order) return "";
  return fmt::format("{} {}", name, order->delay ? FormatDuration(*order->delay) : "default");
}

v1::DelaySetting SettingOf(const LimitsChange::DelayOrder& order) {
  v1::DelaySetting setting;
  if (order.delay) *setting.mutable_delay() = DurationOf(*order.delay);
  return setting;
}

}  // namespace

Result<PolicyRequest> PolicyOf(const v1::SetGroupSettingRequest& request) {
  const int given = request.has_expected_nodes() + request.has_max_moves() + request.has_limits();
  if (given != 1) return Invalid("give exactly one setting");
  if (!request.has_expected_nodes()) return LimitsPolicyOf(request);
  PolicyRequest policy;
  policy.verb = PolicyRequest::Verb::kSetExpectedNodes;
  policy.number = request.expected_nodes();
  const Status sound = CheckNumber("expected_nodes", policy.number, kMaxExpectedNodes);
  if (!sound) return sound.error();
  return policy;
}

Result<GroupChangeRequest> ChangeOf(const v1::ChangeGroupRequest& request) {
  GroupChangeRequest change;
  if (request.failover() != v1::FailoverSettings::POLICY_UNSPECIFIED) {
    change.failover = FailoverPolicyOf(request.failover());
    if (!change.failover) return Invalid("failover is no policy that this version knows");
  }
  if (request.has_failover_delay()) change.delay = CeilOf(request.failover_delay());
  if (request.has_lock_delay()) change.lock_delay = CeilOf(request.lock_delay());
  const bool others = change.failover || change.delay || change.lock_delay;
  if (!others && !request.has_placement()) return Invalid("give at least one setting");
  if (!request.has_placement()) return change;
  if (others) return Invalid("give placement without other settings");
  change.placement = FromProto(request.placement());
  if (const Status sound = CheckPlacement(*change.placement); !sound) {
    return Invalid("placement: " + sound.error().message);
  }
  return change;
}

std::string SettingText(const v1::SetGroupSettingRequest& request) {
  if (request.has_expected_nodes()) {
    return fmt::format("expected_nodes {}", request.expected_nodes());
  }
  const LimitsChange limits = LimitsOf(request);
  std::vector<std::string> words;
  if (limits.max_moves) words.push_back(fmt::format("max_moves {}", *limits.max_moves));
  for (std::string& word : std::vector{DelayText("rebalance_delay", limits.rebalance_delay),
                                       DelayText("cooldown", limits.cooldown)}) {
    if (!word.empty()) words.push_back(word);
  }
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string SettingText(const v1::ChangeGroupRequest& request) {
  if (request.has_placement()) {
    return core::PlacementWords(static_cast<std::size_t>(request.placement().rules_size()));
  }
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  const auto failover = FailoverPolicyOf(request.failover());
  if (failover) add("failover", ToString(*failover));
  if (request.has_failover_delay()) {
    add("failover_delay", FormatDuration(CeilOf(request.failover_delay())));
  }
  if (request.has_lock_delay()) add("lock_delay", FormatDuration(CeilOf(request.lock_delay())));
  return text.empty() ? "no settings" : text;
}

void SetLimits(const LimitsChange& limits, v1::SetGroupSettingRequest* message) {
  if (limits.max_moves && !limits.rebalance_delay && !limits.cooldown) {
    return message->set_max_moves(*limits.max_moves);
  }
  v1::LimitsChange& change = *message->mutable_limits();
  if (limits.max_moves) change.set_max_moves(*limits.max_moves);
  if (limits.rebalance_delay)
    *change.mutable_rebalance_delay() = SettingOf(*limits.rebalance_delay);
  if (limits.cooldown) *change.mutable_cooldown() = SettingOf(*limits.cooldown);
}

}  // namespace baton::runtime
