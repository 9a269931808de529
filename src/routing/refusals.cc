#include "routing/refusals.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/text_rules.h"
#include "baton/v1/errors.pb.h"
#include "routing/request_metadata.h"

namespace baton::routing {
namespace {

constexpr const char* kErrorInfo = "type.googleapis.com/google.rpc.ErrorInfo";
constexpr const char* kRetryInfo = "type.googleapis.com/google.rpc.RetryInfo";
constexpr const char* kDomain = "baton";
// Longer delays are cut to this one, so that no sum of times overflows.
constexpr std::chrono::seconds kLongestDelay = std::chrono::hours(24);

template <typename Message>
void AddDetail(v1::RpcStatus& status, const char* type, const Message& message) {
  google::protobuf::Any& detail = *status.add_details();
  detail.set_type_url(type);
  detail.set_value(message.SerializeAsString());
}

void Read(const google::protobuf::Any& detail, RefusalDetails& details) {
  if (detail.type_url() == kErrorInfo) {
    v1::ErrorInfo info;
    if (!info.ParseFromString(detail.value()) || info.domain() != kDomain) return;
    details.reason = info.reason();
    details.metadata.insert(info.metadata().begin(), info.metadata().end());
  } else if (detail.type_url() == kRetryInfo) {
    v1::RetryInfo info;
    if (!info.ParseFromString(detail.value())) return;
    const std::int64_t seconds =
        std::clamp<std::int64_t>(info.retry_delay().seconds(), 0, kLongestDelay.count());
    const std::int64_t millis =
        std::clamp<std::int64_t>(info.retry_delay().nanos() / 1'000'000, 0, 999);
    details.retry_after = std::chrono::milliseconds(seconds * 1000 + millis);
  }
}

}  // namespace

grpc::Status StatusOf(const Refusal& refusal) {
  v1::RpcStatus status;
  status.set_code(refusal.code);
  status.set_message(refusal.message);
  v1::ErrorInfo info;
  info.set_reason(refusal.reason);
  info.set_domain(kDomain);
  info.mutable_metadata()->insert(refusal.metadata.begin(), refusal.metadata.end());
  AddDetail(status, kErrorInfo, info);
  if (refusal.retry_after) {
    const auto delay =
        std::clamp<std::chrono::milliseconds>(*refusal.retry_after, {}, kLongestDelay);
    v1::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(delay.count() / 1000);
    retry.mutable_retry_delay()->set_nanos(
        static_cast<std::int32_t>(delay.count() % 1000 * 1'000'000));
    AddDetail(status, kRetryInfo, retry);
  }
  return {refusal.code, refusal.message, status.SerializeAsString()};
}

RefusalDetails DetailsOf(const grpc::Status& status) {
  RefusalDetails details;
  v1::RpcStatus parsed;
  if (status.error_details().empty() || !parsed.ParseFromString(status.error_details())) {
    return details;
  }
  for (const google::protobuf::Any& detail : parsed.details()) Read(detail, details);
  return details;
}

bool IsOfCall(const RefusalDetails& details, const std::string& group, ShardId shard) {
  const auto its_shard = details.metadata.find(kShardDetail);
  const auto its_group = details.metadata.find(kGroupDetail);
  return its_shard != details.metadata.end() && its_shard->second == std::to_string(shard.value) &&
         (its_group == details.metadata.end() || its_group->second == group);
}

bool IsMisroute(const grpc::Status& status, const RefusalDetails& details, const std::string& group,
                ShardId shard) {
  return status.error_code() == grpc::StatusCode::FAILED_PRECONDITION &&
         details.reason == kNotLeader && IsOfCall(details, group, shard);
}

std::optional<HintedLeader> HintOf(const RefusalDetails& details) {
  const auto find = [&](const char* key) {
    const auto found = details.metadata.find(key);
    return found == details.metadata.end() ? std::string() : found->second;
  };
  HintedLeader hint{find("leaderNode"), find("leaderAddress"), {}};
  const std::string term = find("term");
  const auto [end, error] =
      std::from_chars(term.data(), term.data() + term.size(), hint.term.value);
  if (error != std::errc() || end != term.data() + term.size() || hint.term.value <= 0) return {};
  if (details.reason != kNotLeader || !IsVisibleText(hint.address, kLongestAddress)) return {};
  return hint;
}

}  // namespace baton::routing
