// ShardWork: all that a node does about shards. Its parts decide. This class passes on to them what
// happened, and lets them act in the right order.
//
//   leaderships     the shards that this node leads, from gaining to giving away
//   standby duties  the shards for which it stands by
//   incoming moves  the shards on their way here
//   ripe marks      whose shards anybody may claim
//   succession      claims of vacant shards
//   balancer        planned moves, if this node is elected
//   lead deadline   until when Leads() may answer true
//   record news     what no other part reports
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

  /// Records a callback's return, and settles what it means for its shard. Ignored if no part waits
  /// for the callback.
  void On(Context& context, const CallbackReturned& event);
  /// Records whether the application is a ready standby for a shard: see StandbyDuties::On.
  void On(const StandbyReadySaid& event) { standby_duties_.On(event); }
  /// A write has a definite outcome. Returns false if none of these parts submitted the write.
  /// REQUIRES: the view has merged what the write read back, and Note has passed that on.
  bool On(Context& context, OperationId operation, const PendingWrites::Settled& settled,
          const WriteResult& result);
  /// Passes on what changed in the view. REQUIRES: each ViewChanges of the view is passed here
  /// before the next Advance.
  void Note(Context& context, const ViewChanges& changes);

  /// Passes the session's deadline on to the runtime: see LeadDeadline::Advance. REQUIRES: until
  /// the node halts or finishes, call it in each step, before the last Note and before Advance.
  void AdvanceDeadline(Context& context) { deadline_.Advance(context, leaderships_); }
  /// Decides and acts. Also writes the member record, if it has to say something else than before.
  /// REQUIRES: `session` is the context's session.
  void Advance(Context& context, Session& session);

  /// The session is lost: ends every leadership (kLeaseExpired), and forgets all that only this
  /// session could do. Standby duties go on.
  void LoseSession(Context& context);
  /// Ends every leadership (kShutdown) and each standby duty, for the end of this node. Returns
  /// whether the lease must be left to expire, because an external application may still act on
  /// shards that this call ended. So a second call returns false.
  bool GiveUp(Context& context);
  /// The application was attached again, after it was detached for `away`. The callbacks that run
  /// get more time.
  void ApplicationIsBack(Context& context, Duration away);
  /// The external application has ended: forgets the standby duties, without callbacks, and whether
  /// activations fail here. REQUIRES: LoseSession follows in this step, or the node has given up.
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
