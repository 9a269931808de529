#include "runtime/guard/end_session.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "etcd/write_executor.h"

namespace baton::runtime {
namespace {

constexpr std::chrono::milliseconds kCall{2000};
constexpr int kMaxUnknown = 3;
constexpr Duration kFirstPause = std::chrono::milliseconds(20);
constexpr Duration kLongestPause = std::chrono::seconds(2);

class SessionEnding : public std::enable_shared_from_this<SessionEnding> {
 public:
  SessionEnding(const EndSessionParts& parts, etcd::Keyspace keyspace, SessionRef dead,
                std::function<void(Result<SessionFound>)> done)
      : parts_(parts),
        dead_(std::move(dead)),
        done_(std::move(done)),
        writes_(parts.transport, std::move(keyspace), parts.clock) {}

  void Delete() {
    writes_.Submit(
        writes_.Prepare(SessionEnd{dead_}), kCall, [self = shared_from_this()](WriteResult result) {
          self->parts_.executor.Post([self, result = std::move(result)] { self->Deleted(result); });
        });
  }

 private:
  void Deleted(const WriteResult& result) {
    if (result.permanent) return done_(Error{ErrorCode::kUnavailable, "etcd: " + result.detail});
    if (result.outcome == Outcome::kUnknown && ++unknown_ < kMaxUnknown) {
      return Again(&SessionEnding::Delete);
    }
    found_ = result.outcome == Outcome::kDone      ? SessionFound::kHeld
             : result.outcome == Outcome::kRefused ? SessionFound::kGone
                                                   : SessionFound::kRevoked;
    Revoke();
  }

  void Revoke() {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(dead_.session.value);
    parts_.transport.LeaseRevoke(
        request, kCall,
        [self = shared_from_this()](const etcd::Reply<etcdserverpb::LeaseRevokeResponse>& reply) {
          self->parts_.executor.Post([self, status = reply.status] { self->Revoked(status); });
        });
  }

  // Refused: there is no such lease any more. Without its key it is worth little anyway, so a role
  // that may not revoke it fails nothing.
  void Revoked(const etcd::CallStatus& status) {
    if (status.outcome == Outcome::kUnknown && !status.permanent) {
      return Again(&SessionEnding::Revoke);
    }
    done_(found_);
  }

  void Again(void (SessionEnding::*step)()) {
    const Duration pause = std::exchange(pause_, std::min(2 * pause_, kLongestPause));
    parts_.executor.Schedule(pause, [self = shared_from_this(), step] { (self.get()->*step)(); });
  }

  const EndSessionParts parts_;
  const SessionRef dead_;
  const std::function<void(Result<SessionFound>)> done_;
  etcd::WriteExecutor writes_;
  SessionFound found_ = SessionFound::kGone;
  int unknown_ = 0;  ///< outcomes of the transaction
  Duration pause_ = kFirstPause;
};

}  // namespace

void EndSession(const EndSessionParts& parts, etcd::Keyspace keyspace, const SessionRef& dead,
                std::function<void(Result<SessionFound>)> done) {
  std::make_shared<SessionEnding>(parts, std::move(keyspace), dead, std::move(done))->Delete();
}

}  // namespace baton::runtime
