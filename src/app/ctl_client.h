// AdminClient: one node's AdminService as plain calls that return values.
//
// Blocking; one thread at a time. Every call ends by its deadline or when Interrupt happens.
// Errors: kUnavailable where the node can't be reached, or says that etcd can't; kTimedOut where
// the outcome is unknown; kInternal for refusals of the caller and breaches of the protocol; else
// as Control.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "baton/result.h"
#include "runtime/control.h"
#include "runtime/doctor/finding.h"
#include "runtime/history.h"

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
  /// The transitions that the node saw, oldest first.
  Result<runtime::HistoryPage> ListEvents(const runtime::HistoryQuestion& question,
                                          TimePoint deadline);
  struct Watch {
    std::optional<std::uint64_t> after = {};  ///< unset: what comes from now on
    /// The process whose number `after` is; unset: any.
    std::optional<std::chrono::system_clock::time_point> started = {};
    std::optional<ShardId> shard = {};
  };
  /// Hands pages on as they come, the first one at once; `reset`: events are missing before it.
  /// Ends with the connection, the node, the deadline or an Interrupt, never with kDone.
  Error WatchEvents(const Watch& watch, TimePoint deadline,
                    const std::function<void(const runtime::HistoryPage&, bool reset)>& page);
  Result<MoveFact> Transfer(const runtime::TransferRequest& request, TimePoint deadline);
  Status SetPolicy(const runtime::PolicyRequest& request, TimePoint deadline);
  Result<std::vector<MoveFact>> PlanRebalance(TimePoint deadline);
  Result<runtime::Diagnosis> Diagnose(TimePoint deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// "user@host", kept with what an operator writes.
std::string ActorName();

}  // namespace baton::app
