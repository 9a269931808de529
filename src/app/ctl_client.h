// AdminClient: one node's AdminService as plain calls that return values.
//
// Blocking; one thread at a time. Every call ends by its deadline or when Interrupt happens.
// Errors: kUnavailable where the node can't be reached, or says that etcd can't; kTimedOut where
// the outcome is unknown; kInternal for refusals of the caller and breaches of the protocol; else
// as Control.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/result.h"
#include "runtime/control.h"

namespace baton::app {

/// A picture of the group; with live moves also where it has no shards.
struct Picture {
  runtime::NodeStatus status;
  std::vector<MoveFact> moves;
};

class AdminClient {
 public:
  explicit AdminClient(const std::string& endpoint);
  ~AdminClient();

  Result<Picture> GetStatus(bool with_shards, TimePoint deadline);
  Result<runtime::NodeStatus> ListShards(TimePoint deadline);
  /// A status that has the one shard and its transitions.
  Result<runtime::NodeStatus> DescribeShard(ShardId shard, TimePoint deadline);
  Result<MoveFact> Transfer(const runtime::TransferRequest& request, TimePoint deadline);
  Status SetPolicy(const runtime::PolicyRequest& request, TimePoint deadline);
  Result<std::vector<MoveFact>> PlanRebalance(TimePoint deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// "user@host", kept with what an operator writes.
std::string ActorName();

}  // namespace baton::app
