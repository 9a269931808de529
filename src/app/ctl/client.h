// AdminClient: calls one node's AdminService and returns plain values.
//
// Blocking; one thread at a time. Every call ends at its deadline, or within 20 ms after Interrupt
// happens. If the node does not know this user or the user's groups yet, a call waits for 2.1 s and
// tries once more. (It does not wait if less time is left until its deadline. GetOwnWords never
// waits.) REQUIRES (not checked): the deadline is not TimePoint::max(), except in WatchEvents.
//
// Errors:
//  - kUnavailable: the node can't be reached, can't reach etcd, or takes no further WatchEvents
//    now. Or the endpoint is not a node. A change was not made.
//  - kTimedOut: there is a connection to the node, but no answer came in time. For a change, also:
//    Interrupt happened, or the connection ended before the answer. The change may still be made,
//    and the message says this.
//  - kInternal: Interrupt ended a call that is not a change. Or the node refuses this caller, or
//    takes no more calls now. Or the answer is above 256 MiB (Answers::kShort: 2 MiB), breaks the
//    protocol, or can't be a node's (CheckStatus in status_check.h).
//  - kInvalidArgument: the node refuses the request (see runtime::Control). Or nothing was sent,
//    because a file or the token can't be used, or the request is longer than
//    ServerLimits::message.
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

/// The answer of GetStatus. Without `with_shards`, `status.shards` is empty. `moves` always has all
/// moves of the group.
struct StatusAnswer {
  runtime::NodeStatus status;
  std::vector<MoveFact> moves;
};

class AdminClient {
 public:
  /// The longest answer that is accepted. kShort is enough for answers without the shards.
  enum class Answers { kAll, kShort };
  /// Reads the files of `tls` now, and connects at the first call. If a file can't be used, every
  /// call returns kInvalidArgument. `endpoint`: a gRPC target, such as "127.0.0.1:7400" or
  /// "unix:/path".
  explicit AdminClient(const std::string& endpoint, const ClientTls& tls = {},
                       Answers answers = Answers::kAll);
  /// The same for options.endpoint and options.tls. Sends the token of options.token_file with each
  /// call except GetOwnWords. If the token would cross the network unencrypted, or its file can't
  /// be used, every call returns kInvalidArgument.
  explicit AdminClient(const CtlOptions& options);
  ~AdminClient();

  struct Identity {
    std::string caller;  ///< "uid 1000", "token ci", a certificate's name, or an address
    std::string role;    ///< one word, see access::ToString(Role)
  };
  /// Returns the name under which the node knows this process, and this process's role.
  Result<Identity> WhoAmI(TimePoint deadline);
  Result<StatusAnswer> GetStatus(bool with_shards, TimePoint deadline);
  /// Asks a server whose endpoint came from another node. This server may be false, so GetOwnWords
  /// returns only a part of its answer (OwnWordsIn in status_check.h), and sends no token.
  Result<runtime::NodeStatus> GetOwnWords(TimePoint deadline);
  /// Returns a status with all shards. Its other fields are not set, except group, node, revision,
  /// view_age and stale.
  Result<runtime::NodeStatus> ListShards(TimePoint deadline);
  /// Returns a status with only this shard in `shards`, and with the shard's transitions in
  /// `recent`. The other fields are as in ListShards. kNotFound: there is no such shard.
  Result<runtime::NodeStatus> DescribeShard(ShardId shard, TimePoint deadline);
  /// Returns the events that `question` asks for and that the node still keeps, oldest first.
  /// Ignores `question.limit`. If there are many events, makes several calls, all with this
  /// deadline. If a call fails, returns its error and no events.
  Result<runtime::HistoryPage> ListEvents(const runtime::HistoryQuestion& question,
                                          TimePoint deadline);
  struct Watch {
    std::optional<std::uint64_t> after = {};  ///< events after this number; unset: only new events
    /// The start time of the process that numbered the event `after`; unset: any process.
    std::optional<std::chrono::system_clock::time_point> started = {};
    std::optional<ShardId> shard = {};
  };
  /// Calls `page` on this thread for each page of events. The first page comes at once, and may be
  /// empty. `reset`: events before the page are missing. TimePoint::max(): there is no deadline.
  /// Returns why the stream ended:
  ///  - kUnavailable: the connection or the node ended, or the node takes no further streams now.
  ///    Call WatchEvents again.
  ///  - kTimedOut or kUnavailable: the deadline has passed.
  ///  - kInternal: Interrupt happened. All other errors: see above.
  Error WatchEvents(const Watch& watch, TimePoint deadline,
                    const std::function<void(const runtime::HistoryPage&, bool reset)>& page);
  /// Returns the move that was written, or that a dry run would write. Does not wait until the move
  /// ends.
  Result<MoveFact> Transfer(const runtime::TransferRequest& request, TimePoint deadline);
  /// Asks for one more attempt to activate the shard, and does not wait for it. Returns how many
  /// attempts had failed before.
  Result<std::uint32_t> Retry(const runtime::RetryRequest& request, TimePoint deadline);
  Status Request(const runtime::PolicyRequest& request, TimePoint deadline);
  Status Request(const runtime::GroupChangeRequest& request, TimePoint deadline);
  Result<NodeChanged> SetNode(const runtime::NodeChangeRequest& request, TimePoint deadline);
  /// `confirm`: "GROUP/SHARD", such as "orders/7". If it is any other text, nothing is released
  /// (kInvalidArgument). A dry run ignores `confirm`.
  Status Release(const runtime::ReleaseRequest& request, const std::string& confirm,
                 TimePoint deadline);
  /// Returns the moves that `rebalance apply` would carry out, and planned moves off draining
  /// nodes.
  Result<std::vector<MoveFact>> PlanRebalance(TimePoint deadline);
  Result<runtime::Diagnosis> Diagnose(TimePoint deadline);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns "user@host" for this process. If the user has no name, the user's number is used. This
/// text is the `actor` of batonctl's requests for changes. May wait for the host's user database.
/// One thread at a time.
std::string ActorName();

}  // namespace baton::app
