#include "runtime/guard/end_session.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "base/escape.h"
#include "etcd/write_executor.h"

namespace baton::runtime {
namespace {

constexpr std::chrono::milliseconds kCall{2000};
constexpr int kMaxUnknown = 3;
constexpr std::size_t kLongestKeyShown = 256;  // bytes
constexpr Duration kFirstPause = std::chrono::milliseconds(20);
constexpr Duration kLongestPause = std::chrono::seconds(2);

class SessionEnding : public std::enable_shared_from_this<SessionEnding> {
 public:
  SessionEnding(const EndSessionParts& parts, etcd::Keyspace keyspace, DeadSession dead,
                std::function<void(Result<SessionFound>)> done)
      : parts_(parts),
        dead_(std::move(dead.session)),
        known_since_(dead.known_since),
        done_(std::move(done)),
        keyspace_(std::move(keyspace)),
        writes_(parts.transport, keyspace_, parts.clock) {}

  void Delete() {
    SessionEnd end{.dead = dead_};
    if (known_since_) end.detect = parts_.clock.Now() - *known_since_;
    writes_.Submit(writes_.Prepare(end), kCall, [self = shared_from_this()](WriteResult result) {
      self->parts_.executor.Post([self, result = std::move(result)] { self->Deleted(result); });
    });
  }

 private:
  void Deleted(const WriteResult& result) {
    if (result.permanent) {
      denied_ = "etcd: " + result.detail;
    } else if (result.outcome == Outcome::kUnknown && !examined_ && ++unknown_ < kMaxUnknown) {
      return Again(&SessionEnding::Delete);
    }
    found_ = result.permanent || result.outcome == Outcome::kUnknown ? SessionFound::kRevoked
             : result.outcome == Outcome::kDone                      ? SessionFound::kHeld
                                                                     : SessionFound::kGone;
    if (found_ == SessionFound::kHeld || examined_) return Revoke();
    Examine();
  }

  // Not proven to be the lease of this node: whose is it?
  void Examine() {
    etcdserverpb::LeaseTimeToLiveRequest request;
    request.set_id(dead_.session.value);
    request.set_keys(true);
    parts_.transport.LeaseTimeToLive(
        request, kCall,
        [self =
             shared_from_this()](const etcd::Reply<etcdserverpb::LeaseTimeToLiveResponse>& reply) {
          self->parts_.executor.Post([self, reply] { self->Examined(reply); });
        });
  }

  void Examined(const etcd::Reply<etcdserverpb::LeaseTimeToLiveResponse>& reply) {
    if (reply.status.outcome == Outcome::kUnknown && !reply.status.permanent) {
      return Again(&SessionEnding::Examine);
    }
    if (reply.status.outcome != Outcome::kDone) {
      // Of a transaction without an outcome, nothing says that the session has ended.
      if (found_ == SessionFound::kRevoked && reply.status.permanent && !denied_) {
        denied_ = "the outcome of the transaction is unknown";
      }
      return NotOurs("etcd: " + reply.status.message);
    }
    for (const std::string& key : reply.response.keys()) {
      if (key != keyspace_.MemberKey(dead_.node)) {
        return NotOurs("the lease holds the key " + OneLineWithin(key, kLongestKeyShown));
      }
    }
    if (found_ != SessionFound::kRevoked || denied_) return Revoke();
    // etcd was away, and answers again. The transaction also says why the session ends.
    examined_ = true;
    Delete();
  }

  // The lease may be another living node's, and is left alone.
  void NotOurs(const std::string& why) {
    if (denied_) return done_(Error{ErrorCode::kUnavailable, *denied_ + "; " + why});
    done_(SessionFound::kGone);
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
    if (denied_ && status.permanent) return done_(Error{ErrorCode::kUnavailable, *denied_});
    const bool gone = denied_ && status.outcome == Outcome::kRefused;
    done_(gone ? SessionFound::kGone : found_);
  }

  void Again(void (SessionEnding::*step)()) {
    const Duration pause = std::exchange(pause_, std::min(2 * pause_, kLongestPause));
    const Duration spread = parts_.jitter ? parts_.jitter(pause) : pause;
    parts_.executor.Schedule(spread, [self = shared_from_this(), step] { (self.get()->*step)(); });
  }

  const EndSessionParts parts_;
  const SessionRef dead_;
  const std::optional<TimePoint> known_since_;
  const std::function<void(Result<SessionFound>)> done_;
  const etcd::Keyspace keyspace_;
  etcd::WriteExecutor writes_;
  SessionFound found_ = SessionFound::kGone;
  int unknown_ = 0;                    ///< outcomes of the transaction
  std::optional<std::string> denied_;  ///< why etcd denied the transaction
  Duration pause_ = kFirstPause;
  bool examined_ = false;  ///< the lease is this node's, and the transaction is tried once more
};

}  // namespace

void EndSession(const EndSessionParts& parts, etcd::Keyspace keyspace, const DeadSession& dead,
                std::function<void(Result<SessionFound>)> done) {
  std::make_shared<SessionEnding>(parts, std::move(keyspace), dead, std::move(done))->Delete();
}

}  // namespace baton::runtime
