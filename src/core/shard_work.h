// ShardWork: a node's work on shards. Its parts decide. ShardWork tells the parts what happened,
// and lets them act in the right order.
//
//   leaderships     the shards that this node leads, from gaining to giving away
//   standby duties  the shards for which this node stands by
//   incoming moves  moves of shards to this node
//   ripe marks      marks that let any node claim the shards of an absent node
//   succession      claims of vacant shards
//   balancer        planned moves, if this node is elected
//   lead deadline   until when Leads() may answer true
//   record news     news of records that no other part reports
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstdint>

#include "core/balancer.h"
#include "core/context.h"
#include "core/incoming_moves.h"
#include "core/lead_deadline.h"
#include "core/leaderships.h"
#include "core/record_news.h"
#include "core/ripe_marks.h"
#include "core/session.h"
#include "core/standby_duties.h"
#include "core/succession.h"

namespace baton::core {

class ShardWork {
 public:
  explicit ShardWork(std::uint32_t shards) : news_(shards) {}

  /// A callback has returned. The part that waits for the callback settles what this return means
  /// for the shard. Ignored if no part waits for the callback.
  void On(Context& context, const CallbackReturned& event);
  /// Records whether the application is a ready standby for a shard: see StandbyDuties::On.
  void On(const StandbyReadySaid& event) { standby_duties_.On(event); }
  /// A write has a definite outcome. Returns false if no part of ShardWork submitted the write.
  /// REQUIRES: the view has merged what the write read back, and Note has got the changes.
  bool On(Context& context, OperationId operation, const PendingWrites::Settled& settled,
          const WriteResult& result);
  /// Tells the parts what changed in the view. REQUIRES: each ViewChanges of the view is passed
  /// here before the next Advance.
  void Note(Context& context, const ViewChanges& changes);

  /// Passes the session's deadline on to the runtime (LeadDeadline::Advance). REQUIRES: called in
  /// each step until the node halts or finishes, before the step's last Note and before Advance.
  void AdvanceDeadline(Context& context) { deadline_.Advance(context, leaderships_); }
  /// Decides and acts. Writes the member record if its content has to change
  /// (Session::AdvanceRecord). REQUIRES: `session` is the context's session.
  void Advance(Context& context, Session& session);

  /// The session is lost. Ends every leadership (kLeaseExpired), and forgets the claims, moves and
  /// plans that were under way. Standby duties go on.
  void LoseSession(Context& context);
  /// Ends every leadership (kShutdown) and every standby duty, because this node ends. Returns true
  /// if the lease must be left to expire: an external application may still act on shards whose
  /// leadership this call ended. A second call returns false.
  bool GiveUp(Context& context);
  /// The application is attached again, after it was detached for `away`. The callbacks that run
  /// get up to `away` more time.
  void ApplicationIsBack(Context& context, Duration away);
  /// The external application has ended. Forgets the standby duties, without callbacks, and forgets
  /// whether activations fail here. REQUIRES: LoseSession follows in this step, or GiveUp was
  /// called.
  void ForgetApplication();
  /// Gives up the balancer's role, if this node has it.
  void ResignBalancer(Context& context) { balancer_.Resign(context); }

  Leaderships& leaderships() { return leaderships_; }
  const Leaderships& leaderships() const { return leaderships_; }
  const StandbyDuties& standby_duties() const { return standby_duties_; }
  const IncomingMoves& incoming_moves() const { return incoming_moves_; }
  const Succession& succession() const { return succession_; }
  const Balancer& balancer() const { return balancer_; }
  const RecordNews& news() const { return news_; }

 private:
  LeadDeadline deadline_;
  Leaderships leaderships_;
  StandbyDuties standby_duties_;
  IncomingMoves incoming_moves_;
  RipeMarks ripe_marks_;
  Succession succession_;
  Balancer balancer_;
  RecordNews news_;
};

}  // namespace baton::core
