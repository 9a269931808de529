#include "sidecar/standing_by.h"

namespace baton::sidecar {

using core::CallbackKind;

std::vector<std::uint64_t> StandingBy::Note(const core::RunCallback& callback) {
  const bool of_standby =
      callback.kind == CallbackKind::kStandby || callback.kind == CallbackKind::kStandbyEnded;
  if (!of_standby && !sent_.contains(callback.shard)) return {};
  Sent& sent = sent_[callback.shard];
  std::vector<std::uint64_t> obsolete;
  const auto replace = [&obsolete](std::uint64_t& operation, std::uint64_t next) {
    if (operation != 0) obsolete.push_back(operation);
    operation = next;
  };
  const std::uint64_t before = sent.standby;
  switch (callback.kind) {
    case CallbackKind::kStandby:
      replace(sent.standby, callback.operation);
      standbys_.emplace(callback.operation, callback.shard);
      break;
    case CallbackKind::kStandbyEnded:
      replace(sent.standby, 0);
      replace(sent.ended, callback.operation);
      break;
    case CallbackKind::kAcquired:
      replace(sent.standby, 0);
      replace(sent.ended, 0);
      break;
    case CallbackKind::kLost: replace(sent.standby, 0); break;
    case CallbackKind::kPrepare:
    case CallbackKind::kReleasing:
    case CallbackKind::kSuspended:
    case CallbackKind::kResumed: break;
  }
  if (sent.standby != before) standbys_.erase(before);
  if (sent.standby == 0 && sent.ended == 0) sent_.erase(callback.shard);
  return obsolete;
}

std::optional<ShardId> StandingBy::ShardOf(std::uint64_t operation) const {
  const auto found = standbys_.find(operation);
  if (found == standbys_.end()) return std::nullopt;
  return found->second;
}

std::uint64_t StandingBy::OperationOf(ShardId shard) const {
  const auto found = sent_.find(shard);
  return found == sent_.end() ? 0 : found->second.standby;
}

void StandingBy::Clear() {
  sent_.clear();
  standbys_.clear();
}

}  // namespace baton::sidecar
