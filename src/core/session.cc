#include "core/session.h"

#include <algorithm>

#include "base/check.h"

namespace baton::core {
namespace {

constexpr Duration kResend = std::chrono::milliseconds(200);
// The application may change its mind about its health in a loop; the record follows this often.
constexpr Duration kSayHealthEvery = std::chrono::seconds(1);
// One may hang at a member of etcd that is stuck; the other goes elsewhere.
constexpr std::size_t kMaxConfirmations = 2;

void LowerTo(TimePoint& wake_at, TimePoint at) { wake_at = std::min(wake_at, at); }

// The node's member fact, among facts that a write left or read back.
const MemberFact* FindMember(const std::vector<Fact>& facts, const NodeId& node) {
  for (const Fact& fact : facts) {
    const auto* member = std::get_if<MemberFact>(&fact);
    if (member != nullptr && member->node == node) return member;
  }
  return nullptr;
}

// Where a member says that it can be reached, for messages; empty if it does not say.
std::string At(const MemberFact& member) {
  return member.address.empty() ? "" : " at '" + member.address + "'";
}

std::string Holder(const MemberFact& member) {
  return member.address.empty() ? "another session" : "the node" + At(member);
}

}  // namespace

Session::Session(const CoreOptions& options, OperationId* next_operation)
    : options_(options), next_operation_(next_operation), ttl_(options.ttl) {}

bool Session::member() const { return std::holds_alternative<Member>(state_); }

SessionId Session::id() const {
  if (const auto* member = std::get_if<Member>(&state_)) return member->lease;
  return SessionId{};
}

SessionGuard Session::guard() const {
  const auto* member = std::get_if<Member>(&state_);
  BATON_CHECK(member != nullptr);
  return {options_.self.node, member->lease, member->create_revision};
}

bool Session::closed() const { return std::holds_alternative<Ended>(state_) && !revocation_; }

MemberFact Session::Value(SessionId lease) const {
  MemberFact value = options_.self;
  value.present = true;
  value.lease = lease;
  value.session = lease;
  value.ttl = ttl_;
  value.unhealthy = !wanted_healthy_ && wanted_state_ == MemberState::kActive;
  value.state = value.unhealthy ? MemberState::kDraining : wanted_state_;
  value.assignment_version = kAssignmentVersion;
  value.external = options_.external;
  value.failing = wanted_failing_;
  return value;
}

void Session::SetReady(std::vector<ShardId> ready) {
  if (ready.size() > kMaxReadyReported) ready.resize(kMaxReadyReported);
  wanted_ready_ = std::move(ready);
  ready_compared_.reset();
}

// Compares once for each revision of the record: the lists may be long, and steps are many.
bool Session::SaysReady(const MemberFact& stored) {
  if (!ready_compared_ || ready_compared_->at != stored.revision) {
    ready_compared_ = {.at = stored.revision, .same = stored.ready == wanted_ready_};
  }
  return ready_compared_->same;
}

// ---- advance -----------------------------------------------------------------------------------

void Session::Advance(TimePoint now, const View& view, std::vector<Action>& actions,
                      TimePoint& wake_at) {
  AdvanceRevocation(now, actions, wake_at);
  if (refused_) return;
  if (std::holds_alternative<Waiting>(state_)) AdvanceWaiting(now, view, actions, wake_at);
  if (std::holds_alternative<Granting>(state_)) {
    AdvanceGranting(now, actions, wake_at);
  } else if (std::holds_alternative<Creating>(state_)) {
    AdvanceCreating(now, view, actions, wake_at);
  } else if (member()) {
    AdvanceKeepAlive(now, actions, wake_at);
    AdvanceConfirmation(now, actions, wake_at);
  }
  AdvanceRecord(now, view, actions, wake_at);
}

// Begins a new session once the last one's lease is settled, the view is complete, and our member
// key is vacant or its holder is proven dead.
void Session::AdvanceWaiting(TimePoint now, const View& view, std::vector<Action>& actions,
                             TimePoint& wake_at) {
  auto& waiting = std::get<Waiting>(state_);
  if (!wanted_ || !view.complete() || revocation_) return;
  if (now < waiting.retry_at) return LowerTo(wake_at, waiting.retry_at);
  const MemberFact* occupant = view.member(options_.self.node);
  if (occupant != nullptr && occupant->present && !TakesOver(*occupant)) {
    if (!waiting.occupied_since) {
      waiting.occupied_since = waiting.read_at = now;
      waiting.occupied_by = occupant->lease;
      actions.push_back(Notice{Notice::Level::kWarning, "the member key of '" + occupant->node +
                                                            "' is held by " + Holder(*occupant) +
                                                            "; waiting for its lease to "
                                                            "expire; if that process is to stay, "
                                                            "give this one another node id"});
    }
    return WaitForKey(*occupant, std::max(view.read_at(), waiting.read_at));
  }
  // 63 random bits make the grant idempotent, and no two sessions get the same name.
  const auto lease = static_cast<std::int64_t>(options_.random() >> 1);
  state_ = Granting{.operation = (*next_operation_)++,
                    .lease = SessionId{lease == 0 ? 1 : lease},
                    .resend_at = now,
                    .in_flight = false};
}

void Session::AdvanceGranting(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at) {
  auto& granting = std::get<Granting>(state_);
  if (granting.in_flight) return;
  if (now < granting.resend_at) return LowerTo(wake_at, granting.resend_at);
  granting.in_flight = true;
  actions.push_back(GrantLease{granting.operation, granting.lease, options_.ttl});
}

// A key without a lease is no session: somebody put it.
bool Session::TakesOver(const MemberFact& occupant) const {
  if (occupant.lease.value == 0) return true;
  const auto& dead = options_.proven_dead;
  return std::find(dead.begin(), dead.end(), occupant.lease) != dead.end() &&
         occupant.readability == Readability::kReadable && occupant.session == occupant.lease &&
         !occupant.external;
}

// Another session holds our key: an earlier process whose lease must expire, or another node with
// our id. It is another node if the key changes hands while we wait, or if a read still finds it
// after every lease must have ended.
void Session::WaitForKey(const MemberFact& occupant, TimePoint read_at) {
  auto& waiting = std::get<Waiting>(state_);
  // The view is read every TTL. If it was not, etcd was away, and its next leader gives every lease
  // its full TTL again: then the wait starts again.
  if (read_at > waiting.read_at + 3 * Duration(ttl_) / 2) waiting.occupied_since = read_at;
  waiting.read_at = read_at;
  // Twice, because a new etcd leader restarts every lease at its full TTL.
  const TimePoint bound = *waiting.occupied_since + 2 * std::max<Duration>(occupant.ttl, ttl_) +
                          std::chrono::seconds(3);
  const bool changed_hands = occupant.lease != waiting.occupied_by;
  if (changed_hands || (read_at >= bound && !had_session_)) {
    refused_ =
        Error{ErrorCode::kFailedPrecondition,
              "node id '" + options_.self.node + "' is in use by another live node" + At(occupant) +
                  "; node ids must be unique in a group: give this node another one, or "
                  "stop the other"};
    return;
  }
}

// The state directory's lock names the session before its member key is put.
void Session::AdvanceCreating(TimePoint now, const View& view, std::vector<Action>& actions,
                              TimePoint& wake_at) {
  auto& creating = std::get<Creating>(state_);
  if (creating.in_flight) return;
  if (now < creating.resend_at) return LowerTo(wake_at, creating.resend_at);
  if (!creating.write) {
    const MemberFact* occupant = view.member(options_.self.node);
    MemberFact value = Value(creating.lease);
    value.ready = wanted_ready_;
    if (occupant != nullptr && occupant->present && TakesOver(*occupant)) {
      creating.write = MemberTakeover{value, occupant->revision};
      creating.replaces = occupant->lease;
    } else {
      creating.write = MemberCreate{value};
    }
    actions.push_back(RecordSession{creating.lease, creating.replaces, options_.external});
  }
  creating.in_flight = true;
  actions.push_back(
      SubmitWrite{creating.operation, std::make_shared<const Write>(*creating.write)});
}

void Session::SendNextKeepAlive(TimePoint now, std::vector<Action>& actions) {
  keepalive_ = KeepAlive{.operation = (*next_operation_)++, .sent_at = now};
  if (fresh_stream_) stream_began_ = keepalive_->operation;
  actions.push_back(SendKeepAlive{keepalive_->operation, id(), fresh_stream_});
  fresh_stream_ = false;
}

void Session::AdvanceKeepAlive(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at) {
  if (!keepalive_) {
    if (now < next_keepalive_) return LowerTo(wake_at, next_keepalive_);
    SendNextKeepAlive(now, actions);
  } else if (now >= keepalive_->sent_at + AnswerBound()) {
    ++counters_.failed;
    // answers carry no number: a late one must not count for the next keepalive
    fresh_stream_ = true;
    SendNextKeepAlive(now, actions);
  }
  LowerTo(wake_at, keepalive_->sent_at + AnswerBound());
}

void Session::AdvanceConfirmation(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at) {
  if (renewed_ && now >= renewed_->sent_at + Duration(ttl_)) {
    ++counters_.failed;
    renewed_.reset();
  }
  if (!renewed_ || confirmations_sent_.size() == kMaxConfirmations) return;
  const bool another = !confirmations_sent_.empty();
  const bool again = another && confirmations_sent_.back().renewed.sent_at == renewed_->sent_at;
  const TimePoint at =
      again ? std::max(confirm_at_, confirmations_sent_.back().sent_at + AnswerBound())
            : confirm_at_;
  if (now < at) return LowerTo(wake_at, at);
  confirmations_sent_.push_back(
      {.operation = (*next_operation_)++, .sent_at = now, .renewed = *renewed_});
  actions.push_back(ConfirmSession{confirmations_sent_.back().operation, guard(), another});
  if (!another) LowerTo(wake_at, now + AnswerBound());
}

void Session::AdvanceRevocation(TimePoint now, std::vector<Action>& actions, TimePoint& wake_at) {
  if (!revocation_ || revocation_->operation != 0) return;
  if (now < revocation_->resend_at) return LowerTo(wake_at, revocation_->resend_at);
  if (closing_ && revocation_->attempts >= revoke_attempts_) {
    revocation_.reset();
    lease_left_ = true;
    return;
  }
  ++revocation_->attempts;
  revocation_->operation = (*next_operation_)++;
  actions.push_back(RevokeLease{revocation_->operation, revocation_->lease});
}

// Keeps the member record as it should be: readable, with the wanted state, weight and labels, and
// saying whether activations fail here.
void Session::AdvanceRecord(TimePoint now, const View& view, std::vector<Action>& actions,
                            TimePoint& wake_at) {
  if (!member()) return;
  if (!update_) {
    if (now < update_not_before_) return LowerTo(wake_at, update_not_before_);
    const MemberFact* stored = view.member(options_.self.node);
    if (stored == nullptr || !stored->HoldsSession(id())) return;
    if (stored->readability == Readability::kNewerSchema) return;
    const bool readable = stored->readability == Readability::kReadable;
    const MemberFact wanted = Value(id());
    const bool health = stored->unhealthy != wanted.unhealthy;
    const bool settings = stored->weight != wanted.weight || stored->labels != wanted.labels;
    if (readable && stored->state == wanted.state && !health && !settings) {
      const bool failing = stored->failing != wanted_failing_;
      if (!failing && SaysReady(*stored)) return;
      if (failing && now < say_failing_not_before_) {
        return LowerTo(wake_at, say_failing_not_before_);
      }
    }
    // A node that leaves says so at once.
    const bool paced = readable && health && wanted_state_ == MemberState::kActive;
    if (paced && now < say_health_not_before_) return LowerTo(wake_at, say_health_not_before_);
    if (health) say_health_not_before_ = now + kSayHealthEvery;
    say_failing_not_before_ = now + kSayFailingEvery;
    MemberFact value = wanted;
    value.ready = wanted_ready_;
    value.unknown_fields = stored->unknown_fields;
    update_ = Update{.operation = (*next_operation_)++,
                     .write = MemberUpdate{value, guard()},
                     .resend_at = now,
                     .in_flight = false};
  }
  if (update_->in_flight) return;
  if (now < update_->resend_at) return LowerTo(wake_at, update_->resend_at);
  update_->in_flight = true;
  actions.push_back(SubmitWrite{update_->operation, std::make_shared<const Write>(update_->write)});
}

bool Session::SaysThatItLeaves(const View& view) const {
  if (!member() || wanted_state_ != MemberState::kDraining) return true;
  const MemberFact* stored = view.member(options_.self.node);
  if (stored == nullptr || !stored->HoldsSession(id())) return true;
  return stored->readability != Readability::kReadable || stored->Leaves();
}

// ---- events ------------------------------------------------------------------------------------

bool Session::On(const LeaseGranted& event, TimePoint now) {
  auto* granting = std::get_if<Granting>(&state_);
  if (granting == nullptr || granting->operation != event.operation) return false;
  granting->in_flight = false;
  granting->resend_at = now + kResend;
  if (event.outcome == Outcome::kUnknown) return true;
  if (event.outcome == Outcome::kRefused) {
    OpenLater(now, granting->lease);
    return true;
  }
  ttl_ = event.ttl;
  state_ = Creating{.operation = (*next_operation_)++,
                    .lease = granting->lease,
                    .write = std::nullopt,
                    .resend_at = now,
                    .in_flight = false};
  return true;
}

bool Session::On(const WriteAnswered& event, TimePoint now) {
  return OnCreated(event, now) || OnUpdated(event, now);
}

bool Session::OnCreated(const WriteAnswered& event, TimePoint now) {
  auto* creating = std::get_if<Creating>(&state_);
  if (creating == nullptr || creating->operation != event.operation) return false;
  creating->in_flight = false;
  creating->resend_at = now + kResend;
  if (event.result.outcome == Outcome::kUnknown) return true;
  const MemberFact* stored = FindMember(event.result.read_back, options_.self.node);
  const SessionId lease = creating->lease;
  const SessionId replaced = creating->replaces;
  // This also holds if an earlier copy of this write had been applied: the key then names this
  // lease.
  if (stored != nullptr && stored->HoldsSession(lease)) {
    state_ = Member{lease, stored->create_revision};
    had_session_ = true;
    hold_ = kMinRetryPause;
    disproved_ = false;
    ForgetRenewals();
    update_.reset();
    fresh_stream_ = true;
    next_keepalive_ = now;
    deadline_ = TimePoint::min();
    if (replaced.value != 0) revocation_ = Revocation{.lease = replaced, .resend_at = now};
    return true;
  }
  OpenLater(now, lease);
  return true;
}

bool Session::OnUpdated(const WriteAnswered& event, TimePoint now) {
  if (!update_ || update_->operation != event.operation) return false;
  update_->in_flight = false;
  update_->resend_at = now + kResend;
  if (event.result.outcome == Outcome::kUnknown) return true;
  if (event.result.outcome == Outcome::kRefused) update_not_before_ = now + kResend;
  update_.reset();
  return true;
}

bool Session::On(const LeaseRevoked& event, TimePoint now) {
  if (!revocation_ || revocation_->operation != event.operation) return false;
  revocation_->operation = 0;
  revocation_->resend_at = now + kResend;
  if (event.outcome != Outcome::kUnknown) revocation_.reset();
  return true;
}

bool Session::On(const KeepAliveAnswered& event, TimePoint now) {
  if (!keepalive_ || keepalive_->operation != event.operation) return false;
  renewed_ =
      Renewed{.sent_at = keepalive_->sent_at, .ttl = event.ttl, .raft_term = event.raft_term};
  next_keepalive_ = std::max(now, keepalive_->sent_at + RenewEvery());
  keepalive_.reset();
  return true;
}

bool Session::On(const KeepAliveEnded& event, TimePoint now) {
  if (!keepalive_ || keepalive_->operation != event.operation) {
    // The present stream ended between two keepalives. The end of an earlier one is ignored.
    if (member() && event.operation >= stream_began_) fresh_stream_ = true;
    return false;
  }
  fresh_stream_ = true;
  ++counters_.failed;
  keepalive_.reset();
  next_keepalive_ = now + 2 * kMinRetryPause;
  return true;
}

bool Session::On(const ConfirmAnswered& event, TimePoint now) {
  const auto sent =
      std::find_if(confirmations_sent_.begin(), confirmations_sent_.end(),
                   [&](const Confirmation& one) { return one.operation == event.operation; });
  if (sent == confirmations_sent_.end()) return false;
  const Confirmation confirmation = *sent;
  confirmations_sent_.erase(sent);
  if (event.outcome != Outcome::kDone) {
    confirm_at_ = now + confirm_pause_;
    confirm_pause_ = std::min(2 * confirm_pause_, AnswerBound());
    return true;
  }
  confirm_pause_ = kMinRetryPause;
  if (!event.passed) {
    disproved_ = true;
    return true;
  }
  Confirmed(confirmation, event, now);
  return true;
}

void Session::Confirmed(const Confirmation& confirmation, const ConfirmAnswered& event,
                        TimePoint now) {
  confirmed_revision_ = std::max(confirmed_revision_, event.revision);
  confirmation_took_ = now - confirmation.sent_at;
  confirmations_.Add(confirmation.sent_at, now, event.revision, event.raft_term);
  const Renewed& renewed = confirmation.renewed;
  if (renewed.sent_at <= last_renewed_) return;  // another one has confirmed it, or a later one
  const bool counts = event.raft_term == renewed.raft_term && renewed.ttl.count() > 0;
  if (!counts) return ProvedNothing(renewed, event, now);
  ++counters_.confirmed;
  renewal_pause_ = kMinRetryPause;
  ttl_ = renewed.ttl;
  deadline_ = std::max(deadline_, renewed.sent_at + Duration(ttl_) - Margin(Duration(ttl_)));
  last_renewed_ = renewed.sent_at;
  if (renewed_ && renewed_->sent_at <= renewed.sent_at) renewed_.reset();
}

// Perhaps the member of etcd that answered has not noticed a newer leader: then the next keepalive
// goes to another one. An answer that came meanwhile may still count.
void Session::ProvedNothing(const Renewed& renewed, const ConfirmAnswered& event, TimePoint now) {
  ++counters_.failed;
  const bool newer = renewed_ && renewed_->sent_at > renewed.sent_at;
  if (newer && renewed_->raft_term == event.raft_term) return;
  renewed_.reset();
  fresh_stream_ = true;
  next_keepalive_ = std::min(next_keepalive_, now + renewal_pause_);
  renewal_pause_ = std::min(2 * renewal_pause_, AnswerBound());
}

void Session::ForgetRenewals() {
  keepalive_.reset();
  renewed_.reset();
  confirmations_sent_.clear();
  confirm_at_ = TimePoint::min();
  renewal_pause_ = confirm_pause_ = kMinRetryPause;
}

bool Session::LostBy(const View& view) const {
  const auto* ours = std::get_if<Member>(&state_);
  if (ours == nullptr) return false;
  if (disproved_) return true;
  const MemberFact* stored = view.member(options_.self.node);
  if (stored == nullptr || stored->revision < ours->create_revision) return false;
  return !stored->HoldsSession(ours->lease) || stored->create_revision != ours->create_revision;
}

void Session::Lose(TimePoint now) {
  if (member()) lost_ = id();
  lost_at_ = now;
  BeginAnew(now, PresentLease());
}

SessionId Session::PresentLease() const {
  if (const auto* granting = std::get_if<Granting>(&state_)) return granting->lease;
  if (const auto* creating = std::get_if<Creating>(&state_)) return creating->lease;
  return id();
}

// Ends the old session; its lease is revoked before another key of ours is put.
void Session::BeginAnew(TimePoint now, SessionId abandoned) {
  if (abandoned.value != 0) revocation_ = Revocation{.lease = abandoned, .resend_at = now};
  deadline_ = TimePoint::min();
  ForgetRenewals();
  update_.reset();
  disproved_ = false;
  if (closing_) {
    state_ = Ended{};
  } else {
    state_ = Waiting{.retry_at = now + kMinRetryPause,
                     .occupied_since = std::nullopt,
                     .occupied_by = {},
                     .read_at = {}};
  }
}

// If a lease or a key was refused, it will be refused for a while (the database is full, or rights
// are missing), and each attempt costs a few commits.
void Session::OpenLater(TimePoint now, SessionId abandoned) {
  BeginAnew(now, abandoned);
  if (auto* waiting = std::get_if<Waiting>(&state_)) waiting->retry_at = now + hold_;
  hold_ = std::min(2 * hold_, kMaxRetryPause);
}

void Session::Close(TimePoint now, int revoke_attempts) {
  if (closing_) return;
  closing_ = true;
  revoke_attempts_ = revoke_attempts;
  BeginAnew(now, PresentLease());
}

}  // namespace baton::core
