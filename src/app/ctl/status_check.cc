#include "app/ctl/status_check.h"

#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/escape.h"
#include "base/limits.h"
#include "base/text_rules.h"
#include "baton/v1/admin.grpc.pb.h"
#include "core/departures.h"
#include "runtime/admin/status_proto.h"

namespace baton::app {
namespace {

Error Strange(const std::string& what) {
  return {ErrorCode::kInternal, fmt::format("the answer {}: is it a Baton node's?", what)};
}

template <typename Message>
void Cut(google::protobuf::RepeatedPtrField<Message>* list, std::size_t most) {
  const auto kept = static_cast<int>(most);
  if (list->size() > kept) list->DeleteSubrange(kept, list->size() - kept);
}

}  // namespace

Status CheckStatus(const v1::GetStatusResponse& response) {
  const v1::NodeStatus& status = response.status();
  if (status.shard_count() > kMaxShards) return Strange("names too many shards");
  const auto most = static_cast<int>(status.shard_count());
  if (status.shards_size() > most) return Strange("has more shards than the group");
  if (response.moves_size() > most) return Strange("has more moves than the group has shards");
  std::set<std::string_view> ids;
  for (const v1::MemberStatus& member : status.members()) {
    if (ids.insert(member.node()).second) continue;
    return Strange(fmt::format("has two members '{}'", OneLine(member.node(), kLongestName)));
  }
  return Ok();
}

Status CheckShards(const v1::ListShardsResponse& response) {
  if (response.shards_size() > static_cast<int>(kMaxShards)) {
    return Strange("names too many shards");
  }
  return Ok();
}

Result<runtime::NodeStatus> OwnWordsIn(const grpc::ByteBuffer& bytes, TimePoint deadline) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (BootClock::now() >= deadline) return Error{ErrorCode::kTimedOut, "no time is left"};
  grpc::ByteBuffer copy(bytes);
  v1::GetStatusResponse response;
  if (!grpc::SerializationTraits<v1::GetStatusResponse>::Deserialize(&copy, &response).ok()) {
    return Strange("can't be parsed");
  }
  v1::NodeStatus& status = *response.mutable_status();
  status.clear_shards();
  status.clear_members();
  status.clear_recent();
  status.clear_placement();
  status.clear_counters();
  Cut(status.mutable_departed(), core::Departures::kMaxKept);
  Cut(status.mutable_worst_failing(), runtime::kMaxFailingListed);
  for (v1::ShardStatus& shard : *status.mutable_worst_failing()) {
    shard.clear_standbys();
    shard.clear_move();
  }
  auto& stopping = *status.mutable_longest_stopping();
  while (stopping.size() > runtime::kMaxStoppingListed) stopping.erase(stopping.begin());
  return runtime::FromProto(status);
}

}  // namespace baton::app
