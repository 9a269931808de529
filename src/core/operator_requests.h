// OperatorRequests: carries out the requests that operators send to this node. It writes moves (for
// transfers), policies, settings of the group, and force-releases. It starts retries of
// activations. It changes this node's weight and labels.
//
// Each request is answered exactly once. A request that is refused, or that writes nothing to etcd,
// is answered in the step in which it comes. Any other request is answered when its write's outcome
// is definite, when its time (`answer_by`) is over, or when the node halts or finishes. The answer
// to a transfer says that the move is written, not that the shard has moved.
//
// At most kMaxRequests requests wait at the same time. While so many wait, each further transfer,
// policy, change of the group's settings or release is refused with kUnavailable, even a dry run.
//
// When the time of a request is over, its write decides the answer:
//  - If each copy of the write was answered, and no copy has reached etcd, the write is dropped.
//    The answer is kUnavailable, and the change is never made.
//  - Otherwise the answer is kTimedOut: nobody knows yet whether the change is made. The node sends
//    the write again until the outcome is definite. Until then the request counts among the
//    kMaxRequests.
//
// If the node halts or finishes, it drops the requests that wait. A request whose write was
// submitted gets kTimedOut, because the change may still be made. The others get kUnavailable.
//
// Other errors:
//  - kUnavailable: no time was left when the request came; this node has ended; its view or session
//    allows no change now; or too many retries run.
//  - kUnavailable, for a change of the group's settings: other changes came first until the time
//    was over, or only the first of the two writes was made in time.
//  - kNotFound: no such shard or node.
//  - kInvalidArgument: settings that make no sense.
//  - kFailedPrecondition: the change is not possible, etcd would refuse it every time, or another
//    change came first.
//
// A change of the group's settings may take two writes: see NextConfig (group_change.h). If another
// change of the settings or a write to a member's record comes first, this node decides again once
// its view is newer. If a policy can't be written because any policy was changed first, the node
// writes the policy again at once. But if an earlier copy of the refused write may have been
// applied, the node answers kFailedPrecondition instead. Each request makes at most 16 writes;
// copies of a write don't count.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/context.h"
#include "core/leaderships.h"

namespace baton::core {

class OperatorRequests {
 public:
  static constexpr std::size_t kMaxRequests = 64;

  // Each records the event. The next Advance handles the event.
  void On(const TransferRequested& event) { news_.emplace_back(event); }
  void On(const PolicyRequested& event) { news_.emplace_back(event); }
  void On(const RetryRequested& event) { news_.emplace_back(event); }
  void On(const GroupChangeRequested& event) { news_.emplace_back(event); }
  void On(const ReleaseRequested& event) { news_.emplace_back(event); }
  void On(const NodeChangeRequested& event) { news_.emplace_back(event); }
  /// A write of this object has a definite outcome. Ignores other operations. REQUIRES: the view
  /// has merged what the write read back.
  void On(OperationId operation, PendingWrites::Settled settled, const WriteResult& result) {
    news_.emplace_back(Answered{operation, std::move(settled), result});
  }
  /// Handles the recorded events: answers a new request or submits its write, and answers the
  /// requests whose writes have a definite outcome. Then answers the requests whose time is over.
  /// REQUIRES: call Advance after each On, in the same step, before DropAll.
  void Advance(Context& context, Leaderships& leaderships);
  /// This node halts or finishes: answers all requests that wait with an error, and drops their
  /// writes. Requests that were recorded after the last Advance are answered in the next Advance.
  void DropAll(Context& context);

  /// This node's new weight and labels, if an Advance changed them since the last call; otherwise
  /// nullopt. The caller puts them into CoreOptions::self before the next Advance, which reads the
  /// present settings there.
  std::optional<NodeSettings> TakeNodeSettings() {
    return std::exchange(node_settings_, std::nullopt);
  }

  /// How many requests this object has refused because kMaxRequests waited already.
  std::uint64_t refused() const { return refused_; }

 private:
  /// The caller who waits for an answer.
  struct Caller {
    std::optional<RequestId> request;  ///< nullopt: answered already, when the time was over
    TimePoint answer_by = TimePoint::max();
  };
  struct Transfer {
    Caller caller;
  };
  struct PolicyRequest {
    Caller caller;
    LimitsChange limits;  ///< of the policy kLimits
    int attempts = 0;     ///< how many are left, including this one
  };
  struct GroupChange {
    Caller caller;
    GroupChangeRequested asked;
    int attempts = 0;    ///< left, including this one
    Revision read{};     ///< of the write in flight: ConfigChange::read
    Revision members{};  ///< of the write in flight: ConfigChange::members
    bool last = false;   ///< NextConfig::last of that write
  };
  struct Release {
    Caller caller;
  };
  /// A write of ours whose outcome is definite now.
  struct Answered {
    OperationId operation = 0;
    PendingWrites::Settled settled;
    WriteResult result;
  };
  using News = std::variant<TransferRequested, PolicyRequested, RetryRequested,
                            GroupChangeRequested, ReleaseRequested, NodeChangeRequested, Answered>;

  bool Full() const {
    return transfers_.size() + policies_.size() + group_changes_.size() + postponed_.size() +
               releases_.size() >=
           kMaxRequests;
  }
  std::optional<Error> WhyNotNow(const Context& context, TimePoint answer_by);
  void Handle(Context& context, Leaderships& leaderships, const TransferRequested& asked);
  void Handle(Context& context, Leaderships& leaderships, const PolicyRequested& asked);
  void Handle(Context& context, Leaderships& leaderships, const RetryRequested& asked);
  void Handle(Context& context, Leaderships& leaderships, const GroupChangeRequested& asked);
  void Handle(Context& context, Leaderships& leaderships, const ReleaseRequested& asked);
  void Handle(Context& context, Leaderships& leaderships, const NodeChangeRequested& asked);
  void Handle(Context& context, Leaderships& leaderships, const Answered& answer);
  void Finish(Context& context, const Transfer& asked, const MoveBatch& write,
              const WriteResult& result);
  void Finish(Context& context, PolicyRequest asked, const PendingWrites::Settled& settled,
              const WriteResult& result);
  void Finish(Context& context, GroupChange change, const PendingWrites::Settled& settled,
              const WriteResult& result);
  void Finish(Context& context, const Release& asked, const ForceRelease& write,
              const WriteResult& result);
  /// Submits the next write of the change, or answers.
  void GoOn(Context& context, GroupChange change);
  /// Goes on with the changes that wait for a newer view, if the view is newer.
  void GoOnWithPostponed(Context& context);

  std::vector<News> news_;  ///< recorded after the last Advance
  std::map<OperationId, Transfer> transfers_;
  std::map<OperationId, PolicyRequest> policies_;
  std::map<OperationId, GroupChange> group_changes_;
  std::vector<GroupChange> postponed_;  ///< those without a write in flight
  std::map<OperationId, Release> releases_;
  std::optional<NodeSettings> node_settings_;
  std::uint64_t refused_ = 0;
};

}  // namespace baton::core
