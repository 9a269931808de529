// InFlightAttempts: a router's attempts in flight. It cancels a replaceable attempt if another
// leader has replaced the attempt's leader. So the call does not wait until its deadline.
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
  /// One attempt. It is in flight from its constructor to its destructor. After Close, the
  /// constructor cancels the attempt.
  class Attempt {
   public:
    /// `replaceable`: Compare and EndDue may cancel the attempt when a newer leader is known.
    /// (Close cancels all attempts.) REQUIRES: `context` outlives this object.
    Attempt(InFlightAttempts& all, ShardId shard, Term term, bool replaceable,
            grpc::ClientContext& context);
    ~Attempt();
    Attempt(const Attempt&) = delete;
    Attempt& operator=(const Attempt&) = delete;

    /// Whether EndDue has cancelled the attempt. An answer may have come even so: look at the
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

  /// Starts kGrace for each replaceable attempt whose shard now has a greater term than the
  /// attempt. If kGrace runs already for an attempt, it is not started again. `term_of` returns a
  /// shard's newest term; 0: nobody leads the shard, so its attempts stay. REQUIRES: `term_of`
  /// doesn't call this object, whose lock is held.
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
