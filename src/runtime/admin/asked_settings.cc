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

Result<PolicyRequest> Bounded(const char* name, PolicyRequest setting, std::uint32_t most) {
  if (setting.number <= most) return setting;
  return Invalid(
      fmt::format("{} is {}; give 1 to {}, or 0 to clear it", name, setting.number, most));
}

}  // namespace

Result<PolicyRequest> PolicyOf(const v1::SetGroupSettingRequest& request) {
  if (request.has_expected_nodes() == request.has_max_moves()) {
    return Invalid("give exactly one setting");
  }
  PolicyRequest policy;
  if (request.has_max_moves()) {
    policy.verb = PolicyRequest::Verb::kSetMaxMoves;
    policy.number = request.max_moves();
    return Bounded("max_moves", policy, kMaxMoves);
  }
  policy.verb = PolicyRequest::Verb::kSetExpectedNodes;
  policy.number = request.expected_nodes();
  return Bounded("expected_nodes", policy, kMaxExpectedNodes);
}

Result<GroupChangeRequest> ChangeOf(const v1::ChangeGroupRequest& request) {
  GroupChangeRequest change;
  if (request.failover() != v1::FailoverSettings::POLICY_UNSPECIFIED) {
    change.failover = PolicyOf(request.failover());
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
  if (request.has_max_moves()) return fmt::format("max_moves {}", request.max_moves());
  return fmt::format("expected_nodes {}", request.expected_nodes());
}

std::string SettingText(const v1::ChangeGroupRequest& request) {
  const Result<GroupChangeRequest> change = ChangeOf(request);
  if (!change) return "no settings";
  std::string text;
  const auto add = [&text](const char* name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  if (change->failover) add("failover", ToString(*change->failover));
  if (change->delay) add("failover_delay", FormatDuration(*change->delay));
  if (change->lock_delay) add("lock_delay", FormatDuration(*change->lock_delay));
  if (change->placement) return core::PlacementWords(*change->placement);
  return text;
}

}  // namespace baton::runtime
