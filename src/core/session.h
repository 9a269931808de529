// Session: one lease, one member key, and the deadline until which this node may lead.
//
// The rules (each found by model checking or on a real etcd):
//  - A confirmed renewal moves the deadline to a later time; nothing else does. The end of the
//    session clears the deadline. A renewal is confirmed in two steps. First, etcd answers a
//    keepalive, sent at t0, in raft term R with a TTL above 0. Then we send a confirmation: a
//    transaction that must commit in the same term and find our member key unchanged. After that
//    the deadline is t0 plus the answer's TTL, minus a margin (Margin in options.h). An answered
//    keepalive alone proves nothing, and the grant of a lease sets no deadline.
//  - Keepalives go out every third of the TTL, and sooner after a failure. They don't wait for
//    confirmations. At most one keepalive is unanswered. If its answer takes longer than a sixth of
//    the TTL, the session ends the stream and sends the next keepalive on another stream.
//  - A confirmation confirms the newest keepalive that was answered before the confirmation was
//    sent. At most two confirmations are unanswered.
//  - If the member key was ever seen missing, created again or with another lease, the session is
//    lost for ever. A lost session never puts the key again. The next session opens after the lost
//    session's lease is revoked, or after etcd has refused to revoke it.
//  - When the deadline has passed, the session is suspended. A later confirmed renewal resumes it.
//  - If the outcome of a grant, a revocation or a write of the member key is unknown, the session
//    sends the same again 200 ms after the answer.
//
// Pure and single-threaded: owned by the core. On records events; Advance decides.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/confirmation_log.h"
#include "core/events.h"
#include "core/options.h"
#include "core/view.h"

namespace baton::core {

class Session {
 public:
  /// REQUIRES: `options` and `next_operation` outlive this object. The session takes the numbers of
  /// its operations from `next_operation`, and increments it. Each new write reads
  /// CoreOptions::self again.
  Session(const CoreOptions& options, OperationId* next_operation);

  // Events. Each returns false if this object does not wait for the operation. After a
  // KeepAliveEnded of the present stream, the next keepalive opens another stream, even if On
  // returned false.
  bool On(const LeaseGranted& event, TimePoint now);
  bool On(const LeaseRevoked& event, TimePoint now);
  bool On(const KeepAliveAnswered& event, TimePoint now);
  bool On(const KeepAliveEnded& event, TimePoint now);
  bool On(const ConfirmAnswered& event, TimePoint now);
  bool On(const WriteAnswered& event, TimePoint now);

  /// Opens a session, sends its keepalives and confirmations, and keeps its member record up to
  /// date (AdvanceRecord). Revokes the leases of ended sessions. Appends actions, and lowers
  /// `wake_at` to the time at which Advance must be called again.
  ///
  /// A session opens if SetWanted allows it, the view is complete, no lease is being revoked,
  /// refused() is unset, and our member key is free. A key without a lease counts as free. So does
  /// a key of a session in CoreOptions::proven_dead (with the exceptions there). The new session
  /// takes over a key that counts as free. After that, Advance revokes the lease of the session
  /// that had the key. If Lose or Close comes first, that lease expires by itself. If etcd refuses
  /// a lease or the member key, Advance revokes the lease, and tries another lease after a backoff
  /// (kMinRetryPause to kMaxRetryPause).
  void Advance(TimePoint now, const View& view, std::vector<Action>& actions, TimePoint& wake_at);

  /// Whether the session is lost: the view or a confirmation showed our member key missing, created
  /// again or with another lease. If true, the owner must call Lose. Before that call, member()
  /// stays true, and live() stays true until the deadline. False if member() is false.
  bool LostBy(const View& view) const;
  /// Ends the present session for ever, or the attempt to open one, and clears the deadline. After
  /// that Advance sends revocations of the lease until one has a definite outcome. Then, and at
  /// least kMinRetryPause after this call, Advance may open a new session. If there is neither a
  /// session nor an attempt, Lose does this:
  ///  - lost_at() becomes `now`.
  ///  - The next attempt is due kMinRetryPause after this call, even if a longer backoff runs.
  ///  - If Advance waits for the end of another session that holds our member key, that wait begins
  ///    again.
  void Lose(TimePoint now);
  /// Whether new sessions may open; true at first. False does not end a session or an attempt to
  /// open one: call Lose for that.
  void SetWanted(bool wanted) { wanted_ = wanted; }
  /// Ends the session for ever, or the attempt to open one. No other session opens. After that
  /// Advance tries to revoke the lease, at most `revoke_attempts` times. If there is neither a
  /// session nor an attempt, but an earlier lease is being revoked, Advance goes on with that; the
  /// earlier tries count, too. A second call does nothing. closed() turns true at one of these
  /// times:
  ///  - At once, if no lease is left to revoke.
  ///  - When an answer says that the lease is revoked, or that etcd refuses to revoke it.
  ///  - In an Advance that finds no try left. Before that, Advance waits for the answer to a try in
  ///    flight, and for 200 ms after an answer that left the outcome unknown.
  void Close(TimePoint now, int revoke_attempts);
  bool closed() const;
  /// Whether Advance gave up the revocation after Close, so that the lease expires by itself.
  /// Otherwise false, even if etcd refused to revoke the lease.
  bool lease_left() const { return lease_left_; }

  /// Sets the state that the member record should say; kActive at first. Advance writes it.
  void SetState(MemberState state) { wanted_state_ = state; }
  /// Sets whether the member record should say that activations fail here. False at first.
  void SetFailing(bool failing) { wanted_failing_ = failing; }
  /// Sets whether the application is healthy; true at first. If it is not healthy, the member
  /// record should say `unhealthy` and kDraining. But after SetState(kDraining) the record should
  /// say kDraining without `unhealthy`.
  void SetHealthy(bool healthy) { wanted_healthy_ = healthy; }
  bool healthy() const { return wanted_healthy_; }
  /// Sets for which shards the member record should say that this node is a ready standby; no
  /// shards at first. The record names the first kMaxReadyReported of them. REQUIRES (not checked):
  /// sorted and distinct.
  void SetReady(std::vector<ShardId> ready);
  /// False if SetState asked for kDraining, but the member record does not say so yet. A record
  /// that says kDraining because the application is unhealthy does not count (MemberFact::Leaves).
  /// True in these cases:
  ///  - SetState did not ask for kDraining.
  ///  - The record says that the node leaves.
  ///  - There is no session, or the view has no readable record of the session.
  bool SaysThatItLeaves(const View& view) const;
  /// Writes the member record if it can't be read, or does not say what it should. It should say
  /// what the setters above set, and the weight and labels of CoreOptions::self. Begins no write
  /// without a session, or before the view shows the session's record. At most one write is in
  /// flight. A record of a newer schema is not replaced. Advance calls AdvanceRecord, too.
  ///
  /// Some changes wait:
  ///  - A change of SetHealthy is written at most once a second. While it waits, all other changes
  ///    wait, too. It does not wait if the node leaves (SetState) or if the record can't be read.
  ///  - A change of SetFailing waits until 1 s after the record's last update. It does not wait if
  ///    state, health, weight or labels must change, too.
  ///  - After a refused write, all changes wait for 200 ms.
  void AdvanceRecord(TimePoint now, const View& view, std::vector<Action>& actions,
                     TimePoint& wake_at);

  /// Whether there is a session: its member key was put, and since then neither Lose nor Close was
  /// called.
  bool member() const;
  /// Whether this node may lead and write: member() is true and `now` is before the confirmed
  /// deadline.
  bool live(TimePoint now) const { return member() && now < deadline_; }
  /// The confirmed deadline, which may have passed. TimePoint::min(): there is no session, or no
  /// renewal of the session was confirmed yet.
  TimePoint deadline() const { return deadline_; }
  /// The session's lease if member() is true; otherwise 0, even if a session that is being opened
  /// has a lease already.
  SessionId id() const;
  /// The last session that Lose ended; 0: there was none.
  SessionId lost() const { return lost_; }
  /// The time of the last Lose, even if it ended no session; TimePoint::min(): there was none.
  TimePoint lost_at() const { return lost_at_; }
  /// REQUIRES (checked): member().
  SessionGuard guard() const;
  /// The TTL of the last grant or confirmed keepalive; the option's before the first grant.
  std::chrono::milliseconds ttl() const { return ttl_; }
  /// When the newest confirmed keepalive was sent. It may be a keepalive of an earlier session.
  /// TimePoint::min(): no keepalive was confirmed yet.
  TimePoint last_renewed() const { return last_renewed_; }

  /// The newest revision at which a confirmation passed (ConfirmAnswered), perhaps of an earlier
  /// session; 0: none has passed. Until the watch has reached this revision, the view may be older
  /// than that confirmation.
  Revision confirmed_revision() const { return confirmed_revision_; }
  /// How long the last confirmation that passed took, from its sending to its answer; 0 before the
  /// first one.
  Duration confirmation_took() const { return confirmation_took_; }
  /// The confirmations that passed, of this and earlier sessions. ConfirmationLog::DeadAtMost uses
  /// them.
  const ConfirmationLog& confirmations() const { return confirmations_; }
  /// Why no session can open: another live node uses our node id (kFailedPrecondition). Once set,
  /// refused() stays so, and Advance only revokes leases. Nullopt: no such node is known. While
  /// Advance waits for the end of another session that holds our member key, it sets refused() in
  /// two cases:
  ///  - The key passes to a third session.
  ///  - This object never had a session, and a read of all keys still finds the key held after
  ///    3 s + 2 * max(ttl(), the other session's TTL). This time begins again if all keys were not
  ///    read for 1.5 * ttl().
  const std::optional<Error>& refused() const { return refused_; }

  /// Counts since this object was created.
  struct Counters {
    std::uint64_t confirmed = 0;  ///< confirmed renewals
    /// Keepalives without an answer, keepalive answers that a confirmation did not prove, and
    /// keepalive answers that were not confirmed within the TTL.
    std::uint64_t failed = 0;
  };
  const Counters& counters() const { return counters_; }

 private:
  /// Waits for a complete view, a vacant member key, a revocation, or the next try.
  struct Waiting {
    TimePoint retry_at{};
    std::optional<TimePoint> occupied_since;
    SessionId occupied_by;
    TimePoint read_at{};  ///< when a read last found the key occupied
  };
  struct Granting {
    OperationId operation = 0;
    SessionId lease;
    TimePoint resend_at{};
    bool in_flight = false;
  };
  struct Creating {
    OperationId operation = 0;
    SessionId lease;
    /// Set when the write is first sent; every later copy is the same.
    std::optional<Write> write;
    SessionId replaces{};  ///< the session whose key the write takes over; 0: no session
    TimePoint resend_at{};
    bool in_flight = false;
  };
  struct Member {
    SessionId lease;
    Revision create_revision;
  };
  struct Ended {};
  using State = std::variant<Waiting, Granting, Creating, Member, Ended>;

  struct KeepAlive {
    OperationId operation = 0;
    TimePoint sent_at{};
  };
  /// The answer to a keepalive.
  struct Renewed {
    TimePoint sent_at{};  ///< when the keepalive was sent
    std::chrono::seconds ttl{0};
    std::uint64_t raft_term = 0;
  };
  struct Confirmation {
    OperationId operation = 0;
    TimePoint sent_at{};
    Renewed renewed;  ///< the answer that it confirms
  };
  struct Revocation {
    SessionId lease;
    OperationId operation = 0;  ///< 0: no revocation is in flight
    TimePoint resend_at{};
    int attempts = 0;
  };
  struct Update {
    OperationId operation = 0;
    Write write;
    TimePoint resend_at{};
    bool in_flight = false;
  };

  void AdvanceWaiting(TimePoint now, const View& view, std::vector<Action>& actions,
                      TimePoint& wake_at);
  void AdvanceGranting(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at);
  void AdvanceKeepAlive(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at);
  void AdvanceConfirmation(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at);
  void AdvanceRevocation(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at);
  void SendNextKeepAlive(TimePoint now, std::vector<Action>& actions);
  bool TakesOver(const MemberFact& occupant) const;
  void WaitForKey(const MemberFact& occupant, TimePoint read_at);
  void AdvanceCreating(TimePoint now, const View& view, std::vector<Action>& actions,
                       TimePoint& wake_at);
  bool OnCreated(const WriteAnswered& event, TimePoint now);
  bool OnUpdated(const WriteAnswered& event, TimePoint now);
  void Confirmed(const Confirmation& confirmation, const ConfirmAnswered& event, TimePoint now);
  void ProvedNothing(const Renewed& renewed, const ConfirmAnswered& event, TimePoint now);
  void ForgetRenewals();
  void BeginAnew(TimePoint now, SessionId abandoned);
  void OpenLater(TimePoint now, SessionId abandoned);
  MemberFact Value(SessionId lease) const;
  bool SaysReady(const MemberFact& stored);
  /// The lease of the session, or of the attempt to open one; 0: no lease.
  SessionId PresentLease() const;
  Duration RenewEvery() const { return Duration(ttl_) / 3; }
  Duration AnswerBound() const { return Duration(ttl_) / 6; }

  const CoreOptions& options_;
  OperationId* next_operation_;
  State state_ = Waiting{};
  bool wanted_ = true;
  bool closing_ = false;
  bool lease_left_ = false;
  int revoke_attempts_ = 0;  ///< while closing
  MemberState wanted_state_ = MemberState::kActive;
  bool wanted_failing_ = false;
  bool wanted_healthy_ = true;
  std::vector<ShardId> wanted_ready_;
  struct Compared {
    Revision at;  ///< of the member record
    bool same = false;
  };
  std::optional<Compared> ready_compared_;  ///< of the record's list and wanted_ready_
  std::chrono::milliseconds ttl_;
  TimePoint deadline_ = TimePoint::min();
  TimePoint last_renewed_ = TimePoint::min();
  TimePoint next_keepalive_{};
  /// The backoff after a confirmation that proves nothing.
  Duration renewal_pause_ = kMinRetryPause;
  std::optional<KeepAlive> keepalive_;  ///< the keepalive without an answer yet
  std::optional<Renewed> renewed_;      ///< the newest answer, until it is confirmed
  std::vector<Confirmation> confirmations_sent_;
  TimePoint confirm_at_{};  ///< the next confirmation waits until then, after an unknown outcome
  Duration confirm_pause_ = kMinRetryPause;
  bool fresh_stream_ = true;
  OperationId stream_began_ = 0;  ///< the first keepalive of the present stream
  Revision confirmed_revision_;
  Duration confirmation_took_{0};
  ConfirmationLog confirmations_;
  std::optional<Revocation> revocation_;
  std::optional<Update> update_;
  TimePoint update_not_before_{};  ///< set after a refusal
  TimePoint say_failing_not_before_{};
  TimePoint say_health_not_before_{};
  std::optional<Error> refused_;
  SessionId lost_{};
  TimePoint lost_at_ = TimePoint::min();
  bool disproved_ = false;  ///< a confirmation found our member key gone or not ours
  bool had_session_ = false;
  Duration hold_ = kMinRetryPause;  ///< the backoff if the attempt to open a session is refused
  Counters counters_;
};

}  // namespace baton::core
