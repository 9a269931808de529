// AdminClient: calls one node's AdminService and returns plain values.
//
// Blocking; one thread at a time. Every call ends by its deadline or when Interrupt happens. (If
// the node does not know this user yet, the call waits once for 2 s, also beyond the deadline.)
//
// Errors: kUnavailable if the node can't be reached, if the endpoint is no node, or if the node
// can't reach etcd; a change was not made then. kTimedOut if there was no answer in time; a change
// may still be made, and the message says so. A change that Interrupt ends is kTimedOut, too;
// other calls that it ends are kInternal. kInternal also if the node refuses this caller or the
// answer breaks the protocol. kInvalidArgument if a file or the token can't be used; nothing is
// sent then. kUnimplemented from a relay. All others as Control says.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/ctl/ctl.h"
#include "base/clock.h"
#include "baton/result.h"
#include "runtime/control.h"
#include "runtime/doctor/finding.h"
#include "runtime/history.h"

namespace baton::app {

/// One answer about the group. It has the live moves even if the shards were not asked for.
struct StatusAnswer {
  runtime::NodeStatus status;
  std::vector<MoveFact> moves;
};

class AdminClient {
 public:
  /// Reads the files, and connects at the first call.
  explicit AdminClient(const std::string& endpoint, const ClientTls& tls = {});
  /// Talks to the endpoint of batonctl, and sends it the token of --token-file, unless that would
  /// cross the network unencrypted: then each call is kInvalidArgument, as if a file can't be used.
  explicit AdminClient(const CtlOptions& options);
  ~AdminClient();

  struct Identity {
    std::string caller;  ///< "uid 1000", "token ci", a certificate's name, or an address
    std::string role;    ///< one word
  };
  /// Returns who this process is in the node's eyes.
  Result<Identity> WhoAmI(TimePoint deadline);
  Result<StatusAnswer> GetStatus(bool with_shards, TimePoint deadline);
  /// Returns a status with all shards; otherwise only group, node, revision, view_age and stale are
  /// set, here and in DescribeShard.
  Result<runtime::NodeStatus> ListShards(TimePoint deadline);
  /// Returns a status with this one shard and its transitions. kNotFound: there is no such shard.
  Result<runtime::NodeStatus> DescribeShard(ShardId shard, TimePoint deadline);
  /// Returns all transitions that the node saw and keeps, oldest first; `question.limit` does not
  /// count.
  Result<runtime::HistoryPage> ListEvents(const runtime::HistoryQuestion& question,
                                          TimePoint deadline);
  struct Watch {
    std::optional<std::uint64_t> after = {};  ///< unset: only new events
    /// When the process started that gave out the number `after`; unset: any process.
    std::optional<std::chrono::system_clock::time_point> started = {};
    std::optional<ShardId> shard = {};
  };
  /// Calls `page` on this thread for each page as it arrives, for the first one at once. `reset`
  /// says that events before that page are missing. Returns why it ended: the connection, the node,
  /// the deadline (TimePoint::max(): none) or an Interrupt.
  Error WatchEvents(const Watch& watch, TimePoint deadline,
                    const std::function<void(const runtime::HistoryPage&, bool reset)>& page);
  /// Returns the move that was written, or that a dry run would write. It is not waited for.
  Result<MoveFact> Transfer(const runtime::TransferRequest& request, TimePoint deadline);
  /// Returns how many attempts had failed before.
  Result<std::uint32_t> Retry(const runtime::RetryRequest& request, TimePoint deadline);
  Status Request(const runtime::PolicyRequest& request, TimePoint deadline);
  Status Request(const runtime::GroupChangeRequest& request, TimePoint deadline);
  /// `confirm`: "GROUP/SHARD"; a dry run needs none.
  Status Release(const runtime::ReleaseRequest& request, const std::string& confirm,
                 TimePoint deadline);
  /// As Control says. Changes nothing.
  Result<std::vector<MoveFact>> PlanRebalance(TimePoint deadline);
  Result<runtime::Diagnosis> Diagnose(TimePoint deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// "user@host" of this process, stored with each change; the user's number if it has no name. May
/// wait for the host's user database. One thread at a time.
std::string ActorName();

}  // namespace baton::app
