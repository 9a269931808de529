// Flights: the attempts that wait for an answer, so that one whose leader was replaced does not
// wait for as long as its deadline.
//
// A leader that hands a shard over answers what it has taken on first; so an attempt is ended only
// kGrace after the newer term was heard of. Thread-safe.
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

class Flights {
 public:
  /// One attempt, while this object lives. Where the flights are closed it is cancelled at once.
  class Flight {
   public:
    /// `replaceable`: it may be ended for a newer leader's sake.
    Flight(Flights& flights, ShardId shard, Term term, bool replaceable,
           grpc::ClientContext& context);
    ~Flight();
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

    /// It was ended for a newer leader's sake.
    bool superseded() const;

   private:
    friend class Flights;
    Flights& flights_;
    const ShardId shard_;
    const Term term_;
    const bool replaceable_;
    grpc::ClientContext& context_;
    // Guarded by the flights' mutex.
    std::optional<TimePoint> due_;
    bool superseded_ = false;
  };

  /// Looks at each attempt's shard anew: where its term is greater by now the attempt's time runs.
  void Compare(const std::function<Term(ShardId)>& term_of, TimePoint now);
  /// Ends those whose time has passed; answers when the next one's does.
  std::optional<TimePoint> EndDue(TimePoint now);
  /// Ends all, now and later.
  void Close();

 private:
  mutable std::mutex mutex_;
  std::unordered_set<Flight*> flights_;
  bool closed_ = false;
};

}  // namespace baton::routing
