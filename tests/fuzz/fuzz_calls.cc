// calls: the metadata of a request, as servers and the router's interceptor read it, and the
// details of a refusal, as callers read them.
//
// Must hold: metadata is refused in one line, or reads back the same after it is written. Malformed
// details read as empty. A delay is at most a day and a second. A hint can be followed. A misroute
// names the call's own shard. A refusal made from what was read says the same again.
#include <chrono>
#include <map>
#include <utility>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include "base/text_rules.h"
#include "baton/v1/errors.pb.h"
#include "fuzz/targets.h"
#include "routing/refusals.h"
#include "routing/request_metadata.h"

namespace baton::fuzz {
namespace {

constexpr const char* kKeys[] = {routing::kGroupKey,     routing::kShardKey,   routing::kTermKey,
                                 routing::kRequestIdKey, routing::kAttemptKey, "another"};
constexpr std::size_t kMaxValues = 16;

bool Same(const routing::RequestMetadata& one, const routing::RequestMetadata& other) {
  return one.group == other.group && one.shard == other.shard && one.term == other.term &&
         one.request_id == other.request_id && one.attempt == other.attempt;
}

void RunMetadata(Input& input) {
  std::multimap<std::string, std::string> metadata;
  for (std::size_t i = 0; i < kMaxValues && !input.empty(); ++i) {
    const char* const key = kKeys[input.Choice(std::size(kKeys))];
    metadata.emplace(key, input.Part());
  }
  const auto read = routing::ReadMetadata(metadata);
  if (!read) return MustBeOneLine(read.error().message);
  std::multimap<std::string, std::string> written;
  routing::WriteMetadata(read.value(), [&](const char* key, const std::string& value) {
    written.emplace(key, value);
  });
  const auto again = routing::ReadMetadata(written);
  Must(again.ok(), "what was read can be written");
  Must(Same(read.value(), again.value()), "what was written reads as it was read");
}

void MustSaySo(const grpc::Status& status, const routing::RefusalDetails& details) {
  routing::Refusal refusal{status.error_code(), status.error_message(), details.reason,
                           details.metadata, details.retry_after};
  const routing::RefusalDetails again = routing::DetailsOf(routing::StatusOf(refusal));
  Must(again.reason == details.reason && again.metadata == details.metadata &&
           again.retry_after == details.retry_after,
       "a refusal says what was read of another");
}

void RunDetails(Input& input) {
  const auto code = static_cast<grpc::StatusCode>(1 + input.Choice(16));
  const grpc::Status status(code, "no", std::string(input.Rest()));
  const routing::RefusalDetails details = routing::DetailsOf(status);
  if (details.retry_after) {
    Must(*details.retry_after >= std::chrono::milliseconds(0) &&
             *details.retry_after < std::chrono::hours(24) + std::chrono::seconds(1),
         "a delay is one that somebody can mean");
  }
  if (const auto hint = routing::HintOf(details)) {
    Must(details.reason == routing::kNotLeader, "only who is not the leader hints at it");
    Must(hint->term.value > 0, "a hint has a term");
    Must(routing::IsVisibleText(hint->address, kLongestAddress), "a hint has an address",
         hint->address);
  }
  if (routing::IsMisroute(status, details, "orders", ShardId{3})) {
    Must(code == grpc::StatusCode::FAILED_PRECONDITION, "a misroute has its code");
    Must(details.metadata.at(routing::kShardDetail) == "3", "a misroute names the shard");
  }
  MustSaySo(status, details);
}

// Writes a map's entries in order, so that the seeds are always the same bytes.
std::string InOrder(const google::protobuf::Message& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

std::string DetailsBytes(const routing::Refusal& refusal) {
  v1::RpcStatus status;
  status.ParseFromString(routing::StatusOf(refusal).error_details());
  v1::ErrorInfo info;
  info.ParseFromString(status.details(0).value());
  status.mutable_details(0)->set_value(InOrder(info));
  return std::string(1, 1) + static_cast<char>(refusal.code - 1) + InOrder(status);
}

}  // namespace

void RunCalls(std::string_view bytes) {
  Input input(bytes);
  if (input.Choice(2) == 0) return RunMetadata(input);
  RunDetails(input);
}

std::vector<Seed> CallsSeeds() {
  const auto said = [](std::initializer_list<std::pair<char, const char*>> values) {
    std::string bytes(1, 0);
    for (const auto& [key, value] : values) bytes += key + PartBytes(value);
    return bytes;
  };
  return {{"metadata-all", said({{0, "orders"}, {1, "3"}, {2, "900"}, {3, "shop-1"}, {4, "1"}})},
          {"metadata-twice", said({{1, "3"}, {1, "3"}})},
          {"metadata-largest", said({{1, "4294967295"}, {2, "9223372036854775807"}})},
          {"not-leader", DetailsBytes({grpc::StatusCode::FAILED_PRECONDITION,
                                       "n2 leads it",
                                       routing::kNotLeader,
                                       {{routing::kShardDetail, "3"},
                                        {routing::kGroupDetail, "orders"},
                                        {"leaderNode", "n2"},
                                        {"leaderAddress", "127.0.0.1:7400"},
                                        {"term", "900"}},
                                       {}})},
          {"no-leader", DetailsBytes({grpc::StatusCode::UNAVAILABLE,
                                      "nobody leads it",
                                      routing::kNoLeader,
                                      {{routing::kShardDetail, "3"}},
                                      std::chrono::milliseconds(250)})}};
}

}  // namespace baton::fuzz
