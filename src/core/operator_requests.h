// OperatorRequests: does what operators asked this node to do. It writes transfers, policies,
// settings of the group and force-releases. It also starts retries of activations, and changes the
// node's own weight and labels.
//
// Each request is answered exactly once. If it is refused or writes nothing, it is answered at
// once. Otherwise it is answered when its write's outcome is definite, when its time (`answer_by`)
// is over, or when the node stops. At most kMaxRequests wait at the same time; further ones are
// refused with kUnavailable.
//
// Suppose that the time is over. If each copy of the write was answered without reaching etcd, the
// write is dropped. Then the answer is kUnavailable, and the change is never made. Otherwise the
// answer is kTimedOut: nobody knows yet whether the change is made. Such a write is sent again
// until its outcome is definite, and counts among the kMaxRequests until then. If the node stops,
// it drops the requests that wait. Those whose write was submitted get kTimedOut, because the
// change may still be made. The others get kUnavailable.
//
// Other errors:
//  - kUnavailable: no time was left; other changes of the group's settings came first until the
//    time was over; only the first of two writes was made in time; this node's view or session
//    allows no change now; or too many retries run.
//  - kNotFound: no such shard or node.
//  - kInvalidArgument: settings that make no sense.
//  - kFailedPrecondition: the change is not possible, or another change came first.
//
// A change of the group's settings may take two writes: see NextConfig. If another change, or a
// write to a member's record, comes first, this node waits until its view shows that write, and
// then decides again. If another change comes before a change of a policy, the node writes its
// change again at once. It does neither if an earlier copy of its write may have been applied. Each
// change makes at most 16 writes.
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

  // Each records the event for the next Advance.
  void On(const TransferRequested& event) { news_.emplace_back(event); }
  void On(const PolicyRequested& event) { news_.emplace_back(event); }
  void On(const RetryRequested& event) { news_.emplace_back(event); }
  void On(const GroupChangeRequested& event) { news_.emplace_back(event); }
  void On(const ReleaseRequested& event) { news_.emplace_back(event); }
  void On(const NodeChangeRequested& event) { news_.emplace_back(event); }
  /// The definite outcome of a write of this object. REQUIRES: the view has merged what the write
  /// read back.
  void On(OperationId operation, PendingWrites::Settled settled, const WriteResult& result) {
    news_.emplace_back(Answered{operation, std::move(settled), result});
  }
  /// Refuses or submits the new requests, and answers those whose write is definite or whose time
  /// is over. REQUIRES: called after each On, in the same step, before DropAll.
  void Advance(Context& context, Leaderships& leaderships);
  /// Answers all requests that wait with an error, because this node stops. Does not answer
  /// requests that were recorded after the last Advance.
  void DropAll(Context& context);

  /// This node's weight and labels, if the last Advance changed them; the next call returns
  /// nullopt. The caller puts them into CoreOptions::self before the next Advance, which decides by
  /// these.
  std::optional<NodeSettings> TakeNodeSettings() {
    return std::exchange(node_settings_, std::nullopt);
  }

  /// How many requests were refused because kMaxRequests waited already.
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
  /// Goes on with the changes that wait for news, if the view shows the news.
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
