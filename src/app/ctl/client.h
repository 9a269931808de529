// AdminClient: calls one node's AdminService and returns plain values.
//
// Blocking; one thread at a time. Every call ends at its deadline, or when Interrupt happens. If
// the node does not know this user or the user's groups yet, and the deadline is more than 2.1 s
// away, a call waits for 2.1 s and tries once more, with the same deadline. REQUIRES (not checked):
// a deadline is not TimePoint::max(), except that of WatchEvents.
//
// Errors:
//  - kUnavailable: the node can't be reached, the endpoint is no node, the node can't reach etcd,
//    or it takes no further WatchEvents now. A change was not made.
//  - kTimedOut: there was no answer in time; or Interrupt, or the end of the connection, came
//    before the answer to a change. A change may still be made, and the message says so.
//  - kInternal: Interrupt ended a call that is no change; the node refuses this caller, or takes no
//    more calls now, from it or at all; the answer is above 256 MiB (Answers::kShort: 1 MiB),
//    breaks the protocol, or can't be a node's (CheckStatus).
//  - kInvalidArgument, besides Control's: a file or the token can't be used, or the request is
//    longer than a node takes (ServerLimits::message). Nothing was sent.
//  - kUnimplemented: the endpoint is a relay, and the call is a change or PlanRebalance. A relay
//    answers all other calls.
//  - All other errors: see runtime::Control.
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

/// One answer about the group. Without `with_shards`, `status.shards` is empty; `moves` never
/// depends on it.
struct StatusAnswer {
  runtime::NodeStatus status;
  std::vector<MoveFact> moves;
};

class AdminClient {
 public:
  /// How long an answer may be: kShort is enough for those without the shards.
  enum class Answers { kAll, kShort };
  /// Reads the files now, and connects at the first call. If a file can't be used, every call
  /// returns kInvalidArgument. `endpoint`: a target of gRPC, such as "127.0.0.1:7400" or
  /// "unix:/path".
  explicit AdminClient(const std::string& endpoint, const ClientTls& tls = {},
                       Answers answers = Answers::kAll);
  /// The same for options.endpoint. Sends the token of --token-file with each call. If the token
  /// would cross the network unencrypted, every call returns kInvalidArgument.
  explicit AdminClient(const CtlOptions& options);
  ~AdminClient();

  struct Identity {
    std::string caller;  ///< "uid 1000", "token ci", a certificate's name, or an address
    std::string role;    ///< one word, see access::ToString(Role)
  };
  /// Returns as whom the node knows this process, and what this process may do.
  Result<Identity> WhoAmI(TimePoint deadline);
  Result<StatusAnswer> GetStatus(bool with_shards, TimePoint deadline);
  /// For an endpoint that another node named, which may be false. See OwnWordsIn in status_check.h.
  Result<runtime::NodeStatus> GetOwnWords(TimePoint deadline);
  /// Returns all shards. Besides them, only these fields of the status are set: group, node,
  /// revision, view_age and stale.
  Result<runtime::NodeStatus> ListShards(TimePoint deadline);
  /// Returns one shard, as the only one of `shards`, and its transitions (`recent`). The other
  /// fields are as in ListShards. kNotFound: there is no such shard.
  Result<runtime::NodeStatus> DescribeShard(ShardId shard, TimePoint deadline);
  /// Returns all events that the node keeps and that `question` asks for, oldest first. Ignores
  /// `question.limit`. Makes several calls if the events need them, all with this deadline; if one
  /// fails, returns its error and no events.
  Result<runtime::HistoryPage> ListEvents(const runtime::HistoryQuestion& question,
                                          TimePoint deadline);
  struct Watch {
    std::optional<std::uint64_t> after = {};  ///< unset: only new events
    /// The start time of the process that numbered the event `after`; unset: any process.
    std::optional<std::chrono::system_clock::time_point> started = {};
    std::optional<ShardId> shard = {};
  };
  /// Calls `page` on this thread for each page as it arrives. The first page comes at once, and may
  /// be empty. `reset`: events before the page are missing. Returns why the stream ended.
  /// kUnavailable: the connection or the node ended; call it again. kTimedOut or kUnavailable: the
  /// deadline has passed (TimePoint::max(): there is no deadline). kInternal: see above.
  Error WatchEvents(const Watch& watch, TimePoint deadline,
                    const std::function<void(const runtime::HistoryPage&, bool reset)>& page);
  /// Returns the move that was written, or that a dry run would write. Does not wait for its end.
  Result<MoveFact> Transfer(const runtime::TransferRequest& request, TimePoint deadline);
  /// Returns how many attempts had failed before. Does not wait for the next attempt.
  Result<std::uint32_t> Retry(const runtime::RetryRequest& request, TimePoint deadline);
  Status Request(const runtime::PolicyRequest& request, TimePoint deadline);
  Status Request(const runtime::GroupChangeRequest& request, TimePoint deadline);
  Result<NodeChanged> SetNode(const runtime::NodeChangeRequest& request, TimePoint deadline);
  /// `confirm`: "GROUP/SHARD", such as "orders/7". With anything else nothing is released:
  /// kInvalidArgument. A dry run needs none.
  Status Release(const runtime::ReleaseRequest& request, const std::string& confirm,
                 TimePoint deadline);
  /// Returns the moves that `rebalance apply` would carry out. Changes nothing.
  Result<std::vector<MoveFact>> PlanRebalance(TimePoint deadline);
  Result<runtime::Diagnosis> Diagnose(TimePoint deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns "user@host" of this process, with the user's number if the user has no name. It is the
/// `actor` of batonctl's requests for changes. May wait for the host's user database. One thread at
/// a time.
std::string ActorName();

}  // namespace baton::app
