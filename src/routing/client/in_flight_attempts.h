// InFlightAttempts: a router's attempts in flight. If another leader has replaced the leader of a
// replaceable attempt, the attempt is cancelled, so that its call does not wait until the deadline.
//
// A leader that hands a shard over still answers the requests that it has accepted. So an attempt
// is cancelled only kGrace after the router heard of the newer term.
//
// Thread-safe; waits only for a short lock. REQUIRES: this object outlives its attempts.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <unordered_set>

#include <grpcpp/client_context.h>

#include "base/clock.h"
#include "baton/types.h"

namespace baton::routing {

inline constexpr Duration kGrace = std::chrono::milliseconds(100);

class InFlightAttempts {
 public:
  /// One attempt. It is in flight from its constructor to its destructor. If Close was called
  /// before, the constructor cancels it.
  class Attempt {
   public:
    /// `replaceable`: the attempt may be cancelled when a newer leader is known. (Close cancels all
    /// attempts.) REQUIRES: `context` outlives this object.
    Attempt(InFlightAttempts& all, ShardId shard, Term term, bool replaceable,
            grpc::ClientContext& context);
    ~Attempt();
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    /// Whether EndDue has cancelled the attempt. The answer may have come all the same: look at the
    /// call's status.
    bool superseded() const;

   private:
    friend class InFlightAttempts;
    InFlightAttempts& all_;
    const ShardId shard_;
    const Term term_;
    const bool replaceable_;
    grpc::ClientContext& context_;
    // Guarded by the mutex of all_.
    std::optional<TimePoint> due_;
    bool superseded_ = false;
  };

  /// Starts kGrace for each replaceable attempt whose shard has a greater term now than the
  /// attempt. A kGrace that has been started already goes on. `term_of` returns a shard's newest
  /// term; 0: nobody leads the shard, so its attempts stay. REQUIRES: `term_of` doesn't call this
  /// object, whose lock is held.
  void Compare(const std::function<Term(ShardId)>& term_of, TimePoint now);
  /// Cancels the attempts whose kGrace has passed at `now`. Returns when the next kGrace passes;
  /// nullopt: no kGrace is running.
  std::optional<TimePoint> EndDue(TimePoint now);
  /// Cancels all attempts, also those that begin later. Attempts that Close cancels don't count as
  /// superseded.
  void Close();

 private:
  mutable std::mutex mutex_;
  std::unordered_set<Attempt*> attempts_;
  bool closed_ = false;
};

}  // namespace baton::routing
