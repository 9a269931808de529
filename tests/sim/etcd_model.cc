#include "sim/etcd_model.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/phases.h"
#include "sim/request_rules.h"

namespace baton::sim {
namespace {

constexpr Duration kScanEvery = milliseconds(500);
constexpr Duration kForwardLeast = microseconds(100);
constexpr Duration kForwardMost = microseconds(500);
constexpr Duration kApplyMost = microseconds(300);
constexpr int kLimboPerMille = 500;
constexpr Phases kPutNothing{
    Phase::kReading,   Phase::kWatching,  Phase::kRevoking,  Phase::kRenewing, Phase::kConfirming,
    Phase::kPreparing, Phase::kReleasing, Phase::kSuspended, Phase::kIdle,     Phase::kAbandoning};

const Failure kNoSpace{kCodeResourceExhausted, "etcdserver: mvcc: database space exceeded"};

}  // namespace

EtcdModel::EtcdModel(World& world, EtcdModelOptions options)
    : world_(world), random_(world.random().Fork()), options_(options) {
  if (options_.personality == Personality::k3423) options_.dialect = DialectOf("3.4.23");
  TeachStore();
  for (Member& member : members_) member.raft_term = raft_term_;
  Scan();
  NotifyProgress();
}

bool EtcdModel::Connected(int member) const {
  const Member& state = members_[Index(member)];
  return state.up && !state.frozen && !state.isolated && !state.stuck;
}

bool EtcdModel::Quorum() const {
  int connected = 0;
  for (int member = 0; member < kMembers; ++member) connected += Connected(member) ? 1 : 0;
  return connected > kMembers / 2;
}

pb::ResponseHeader EtcdModel::Header(int member, std::int64_t revision) const {
  pb::ResponseHeader header;
  header.set_cluster_id(kClusterId);
  header.set_member_id(static_cast<std::uint64_t>(member) + 1);
  header.set_revision(revision);
  header.set_raft_term(members_[Index(member)].raft_term);
  return header;
}

void EtcdModel::Serve(int member, Phases phase, std::function<void()> what) {
  Member& state = members_[Index(member)];
  if (!state.up) return;
  if (!state.frozen) return what();
  world_.Hit(Fault::kMemberFrozen, phase);
  state.backlog.push_back(std::move(what));
}

// ---- the log ----

Fault EtcdModel::WhyUnserved(int member) const {
  if (!Quorum()) return Fault::kQuorumLost;
  return Connected(member) ? Fault::kProposalLost : Fault::kMemberIsolated;
}

// etcd drops the proposal if the member reaches no leader.
void EtcdModel::Propose(int member, Phases phase, Command command) {
  if (!Connected(member) || !Serving()) return world_.Hit(WhyUnserved(member), phase);
  Duration delay = random_.Between(options_.commit_least, options_.commit_most);
  if (member != leader_) delay += random_.Between(kForwardLeast, kForwardMost);
  last_commit_ = std::max(last_commit_, world_.now() + delay);
  const std::uint64_t number = next_proposal_++;
  proposals_.emplace(number, Proposal{std::move(command), member, phase});
  if (fill_under_.Meets(phase)) Fill();
  world_.At(last_commit_, [this, number] { Commit(number); });
}

void EtcdModel::SetStalled(bool stalled) {
  stalled_ = stalled;
  if (stalled) return;
  if (leader_ >= 0) CommitLimbo();
  for (const std::uint64_t number : std::exchange(waiting_, {})) Commit(number);
}

void EtcdModel::Commit(std::uint64_t number) {
  if (stalled_) {
    const auto waits = proposals_.find(number);
    if (waits != proposals_.end()) world_.Hit(Fault::kCommitStalled, waits->second.phase);
    return waiting_.push_back(number);
  }
  const auto found = proposals_.extract(number);
  if (!found.empty()) Carry(found.mapped());
}

void EtcdModel::Carry(const Proposal& proposal) {
  Reply reply = proposal.command();
  for (int member = 0; member < kMembers; ++member) {
    const bool asked = member == proposal.member;
    Enqueue(member, asked ? std::move(reply) : Reply{}, asked ? proposal.phase : Phases{});
  }
}

bool EtcdModel::Watched(int member) const {
  return std::any_of(watches_.begin(), watches_.end(),
                     [&](const auto& watch) { return watch.second.member == member; });
}

void EtcdModel::Enqueue(int member, Reply reply, Phases phase) {
  Member& state = members_[Index(member)];
  const Duration lag = state.lag + random_.Between(Duration{0}, kApplyMost);
  TimePoint due = world_.now() + (member == leader_ ? Duration{0} : lag);
  if (!state.queue.empty()) due = std::max(due, state.queue.back().due);
  if (state.lag > milliseconds(100)) {
    if (Watched(member)) phase |= Phase::kWatching;
    world_.Hit(Fault::kMemberLags, phase);
  }
  state.queue.push_back({.due = due, .revision = store_.revision(), .reply = std::move(reply)});
  SchedulePump(member);
}

void EtcdModel::SchedulePump(int member) {
  Member& state = members_[Index(member)];
  if (state.pumping || state.queue.empty() || !Connected(member)) return;
  state.pumping = true;
  world_.At(state.queue.front().due, [this, member] {
    members_[Index(member)].pumping = false;
    Pump(member);
  });
}

void EtcdModel::Pump(int member) {
  Member& state = members_[Index(member)];
  if (!Connected(member)) return;
  std::vector<Reply> replies;
  while (!state.queue.empty() && state.queue.front().due <= world_.now()) {
    state.revision = state.queue.front().revision;
    if (state.queue.front().reply) replies.push_back(std::move(state.queue.front().reply));
    state.queue.pop_front();
  }
  for (const Reply& reply : replies) reply();
  ServeWatches(member);
  SchedulePump(member);
}

// ---- members and their leader ----

void EtcdModel::SetUp(int member, bool up) {
  Member& state = members_[Index(member)];
  if (state.up == up) return;
  state.up = up;
  if (!up) {
    state.backlog.clear();
    state.believed.clear();
    state.stuck = state.frozen = false;
    for (Applied& applied : state.queue) applied.reply = nullptr;
    std::erase_if(watches_, [&](const auto& watch) { return watch.second.member == member; });
  }
  Reconsider();
}

void EtcdModel::SetFrozen(int member, bool frozen) {
  Member& state = members_[Index(member)];
  if (!state.up || state.frozen == frozen) return;
  state.frozen = frozen;
  Reconsider();
  if (frozen) return;
  for (const auto& what : std::exchange(state.backlog, {})) what();
}

void EtcdModel::SetIsolated(int member, bool isolated) {
  Member& state = members_[Index(member)];
  if (state.isolated == isolated) return;
  if (isolated && member == leader_) {
    // It steps down if it heard nothing of a quorum for an election timeout.
    state.believed = leases_;
    state.believes_until = world_.now() + options_.election_timeout;
  }
  state.isolated = isolated;
  if (!isolated) state.believed.clear();
  Reconsider();
}

void EtcdModel::SetStuck(int member, bool stuck) {
  BATON_CHECK(options_.personality == Personality::k3423);
  Member& state = members_[Index(member)];
  if (!state.up || state.stuck == stuck) return;
  if (stuck) {
    state.believed = leases_;
    state.believes_until = TimePoint::max();
  }
  state.stuck = stuck;
  Reconsider();
  if (!stuck) RevokeLate(state);
}

// The deposed leader did not hear of renewals elsewhere; the revokes that it has queued reach its
// successor.
void EtcdModel::RevokeLate(Member& member) {
  for (const auto& [id, lease] : std::exchange(member.believed, {})) {
    if (lease.expires > world_.now() || !leases_.contains(id) || !Serving()) continue;
    world_.Hit(Fault::kLateRevoke, holder_ ? holder_(id) : Phases{});
    Propose(leader_, {}, [this, lost = id] {
      ApplyRevoke(lost, LeaseEnd::kRevokedLate, kByEtcd);
      return Reply{};
    });
  }
}

void EtcdModel::MoveLeader() {
  if (!Serving()) return;
  world_.HitEverybody(Fault::kRaftLeaderChanged);
  LoseLeader();
  ScheduleElection();
}

// A state changed: checks whether there is still a leader, or can be one again.
void EtcdModel::Reconsider() {
  if (leader_ >= 0 && !Serving()) {
    world_.HitEverybody(Fault::kRaftLeaderChanged);
    LoseLeader();
  }
  if (leader_ < 0 && Quorum()) ScheduleElection();
  for (int member = 0; member < kMembers; ++member) {
    Member& state = members_[Index(member)];
    Sync(member);
    if (!Connected(member)) continue;
    state.raft_term = std::max(state.raft_term, raft_term_);
    for (Applied& applied : state.queue) applied.due = std::max(applied.due, world_.now());
    SchedulePump(member);
  }
}

void EtcdModel::LoseLeader() {
  leader_ = -1;
  for (auto& [number, proposal] : std::exchange(proposals_, {})) {
    if (random_.Chance(kLimboPerMille)) {
      limbo_.push_back(std::move(proposal));
    } else {
      world_.Hit(Fault::kProposalLost, proposal.phase);
    }
  }
}

void EtcdModel::ScheduleElection() {
  if (electing_) return;
  electing_ = true;
  world_.After(random_.Between(options_.election_timeout, 2 * options_.election_timeout), [this] {
    electing_ = false;
    if (leader_ < 0 && Quorum()) Elect();
  });
}

void EtcdModel::Elect() {
  std::vector<int> candidates;
  for (int member = 0; member < kMembers; ++member) {
    if (Connected(member)) candidates.push_back(member);
  }
  leader_ = candidates[random_.Below(candidates.size())];
  ++raft_term_;
  ++elections_;
  for (const int member : candidates) members_[Index(member)].raft_term = raft_term_;
  for (auto& [id, lease] : leases_) {
    lease.revoking = false;
    lease.expires = world_.now() + OnLeaderClock(lease.ttl + options_.election_timeout);
  }
  if (!stalled_) CommitLimbo();
  world_.Trace(1, leader_, static_cast<std::int64_t>(raft_term_));
  if (world_.verbose()) world_.Say("etcd: member " + std::to_string(leader_) + " leads");
}

// The proposals that an old leader had told a majority; the clients that asked have given up.
void EtcdModel::CommitLimbo() {
  for (Proposal& proposal : std::exchange(limbo_, {})) {
    const Reply unheard = proposal.command();
    for (int member = 0; member < kMembers; ++member) Enqueue(member, {}, {});
  }
}

// ---- keys ----

void EtcdModel::Range(int member, const pb::RangeRequest& request,
                      Replied<pb::RangeResponse> reply) {
  ++served_.ranges;
  Serve(member, Phase::kReading, [this, member, request, reply = std::move(reply)] {
    const Failure malformed = CheckRange(request);
    if (!malformed.none()) return reply(malformed, {});
    const auto answer = [this, member, request, reply](std::int64_t at) {
      pb::RangeResponse response;
      const Failure failure = store_.Range(request, at, response);
      *response.mutable_header() = Header(member, at);
      reply(failure, response);
    };
    if (request.serializable()) return answer(members_[Index(member)].revision);
    if (!Connected(member) || !Serving()) return world_.Hit(WhyUnserved(member), Phase::kReading);
    // The leader confirms that it still leads; then the member has applied all that the leader had.
    world_.After(random_.Between(kForwardLeast, kForwardMost), [this, member, answer] {
      if (Connected(member) && Serving()) answer(store_.revision());
    });
  });
}

void EtcdModel::Txn(int member, std::shared_ptr<const pb::TxnRequest> request, int origin,
                    Replied<pb::TxnResponse> reply) {
  ++served_.transactions;
  const Phase phase = PhaseOf(*request);
  Serve(member, phase,
        [this, member, phase, request = std::move(request), origin, reply = std::move(reply)] {
          if (full_ && NeedsSpace(*request)) {
            world_.Hit(Fault::kNoSpaceRefused, phase);
            RaiseAlarm(member);
            return reply(kNoSpace, {});
          }
          const Failure failure = CheckTxn(*request, options_.operations);
          if (!failure.none()) return reply(failure, {});
          Propose(member, phase, [this, member, request, origin, reply] {
            return ApplyTxn(member, *request, origin, reply);
          });
        });
}

// Each refusal asks for the alarm, as any of these requests may get lost. An alarm that would be
// committed after space was freed is left out: the simulation's operator doesn't look again.
void EtcdModel::RaiseAlarm(int member) {
  if (alarm_) return;
  Propose(member, {}, [this] {
    alarm_ = alarm_ || full_;
    return Reply{};
  });
}

void EtcdModel::FillUnder(Phases phases) {
  fill_under_ = phases.Without(kPutNothing);
  const bool proposed = std::any_of(proposals_.begin(), proposals_.end(), [&](const auto& entry) {
    return entry.second.phase.Meets(fill_under_);
  });
  if (proposed || fill_under_.empty()) Fill();
}

// Puts count in both branches, whichever is taken; older versions count only those of the outer
// transaction.
bool EtcdModel::NeedsSpace(const pb::TxnRequest& request) const {
  const bool nested = options_.dialect.nested_puts_need_space;
  for (const auto* branch : {&request.success(), &request.failure()}) {
    for (const pb::RequestOp& operation : *branch) {
      if (operation.has_request_put()) return true;
      if (nested && operation.has_request_txn() && NeedsSpace(operation.request_txn())) {
        return true;
      }
    }
  }
  return false;
}

EtcdModel::Reply EtcdModel::ApplyTxn(int member, const pb::TxnRequest& request, int origin,
                                     const Replied<pb::TxnResponse>& reply) {
  const bool needs = NeedsSpace(request);
  if (alarm_ && needs) {
    world_.Hit(Fault::kNoSpaceRefused, PhaseOf(request));
    return [reply] { reply(kNoSpace, {}); };
  }
  const std::int64_t before = store_.revision();
  pb::TxnResponse response;
  Failure failure = store_.Txn(request, response);
  if (store_.revision() != before && observer_ != nullptr) {
    observer_->Committed(store_.revision(), origin);
  }
  if (full_ && needs && failure.none()) {
    world_.Hit(Fault::kNoSpaceApplied, PhaseOf(request));
    RaiseAlarm(member);
    failure = kNoSpace;
  }
  *response.mutable_header() = Header(member, store_.revision());
  return [this, member, failure, reply, response = std::move(response)]() mutable {
    response.mutable_header()->set_raft_term(members_[Index(member)].raft_term);
    reply(failure, response);
  };
}

Failure EtcdModel::Compact(std::int64_t revision) {
  const Failure failure = store_.Compact(revision);
  if (failure.none()) world_.HitEverybody(Fault::kCompaction);
  return failure;
}

bool EtcdModel::OperatorTxn(const pb::TxnRequest& request) {
  if (!Serving()) return false;
  bool changed = false;
  Carry({.command =
             [&] {
               const std::int64_t before = store_.revision();
               pb::TxnResponse response;
               store_.Txn(request, response);
               changed = store_.revision() != before;
               if (changed && observer_ != nullptr) {
                 observer_->Committed(store_.revision(), kByOperator);
               }
               return Reply{};
             },
         .member = leader_});
  return changed;
}

// ---- leases ----

Duration EtcdModel::OnLeaderClock(Duration ttl) const {
  const int ppm = leader_ >= 0 ? members_[Index(leader_)].ppm : 0;
  return Duration(ttl.count() / 1'000'000 * (1'000'000 - ppm));
}

// One and a half election timeouts, in whole seconds: 2 s with etcd's defaults.
std::int64_t EtcdModel::LeastTtl() const {
  return std::chrono::ceil<seconds>(options_.election_timeout * 3 / 2).count();
}

void EtcdModel::Grant(int member, const pb::LeaseGrantRequest& request, int origin,
                      Replied<pb::LeaseGrantResponse> reply) {
  static_cast<void>(origin);
  Serve(member, Phase::kGranting, [this, member, request, reply = std::move(reply)] {
    if (full_) {
      world_.Hit(Fault::kNoSpaceRefused, Phase::kGranting);
      RaiseAlarm(member);
      return reply(kNoSpace, {});
    }
    Propose(member, Phase::kGranting,
            [this, member, request, reply] { return ApplyGrant(member, request, reply); });
  });
}

EtcdModel::Reply EtcdModel::ApplyGrant(int member, const pb::LeaseGrantRequest& request,
                                       const Replied<pb::LeaseGrantResponse>& reply) {
  if (alarm_) {
    world_.Hit(Fault::kNoSpaceRefused, Phase::kGranting);
    return [reply] { reply(kNoSpace, {}); };
  }
  const Failure refused = CheckGrant(request);
  if (!refused.none()) return [reply, refused] { reply(refused, {}); };
  if (leases_.contains(request.id())) {
    const Failure exists{kCodeFailedPrecondition, "etcdserver: lease already exists"};
    return [reply, exists] { reply(exists, {}); };
  }
  const std::int64_t ttl = std::max(request.ttl(), LeastTtl());
  leases_[request.id()] = {.ttl = seconds(ttl),
                           .expires = world_.now() + OnLeaderClock(seconds(ttl))};
  store_.AddLease(request.id());
  pb::LeaseGrantResponse response;
  response.set_id(request.id());
  response.set_ttl(ttl);
  *response.mutable_header() = Header(member, store_.revision());
  if (full_) {
    world_.Hit(Fault::kNoSpaceApplied, Phase::kGranting);
    RaiseAlarm(member);
    return [reply] { reply(kNoSpace, {}); };
  }
  return [reply, response] { reply({}, response); };
}

void EtcdModel::Revoke(int member, const pb::LeaseRevokeRequest& request, int origin,
                       Replied<pb::LeaseRevokeResponse> reply) {
  Serve(member, Phase::kRevoking,
        [this, member, id = request.id(), origin, reply = std::move(reply)] {
          Propose(member, Phase::kRevoking, [this, member, id, origin, reply]() -> Reply {
            const Failure failure = ApplyRevoke(id, LeaseEnd::kRevoked, origin);
            pb::LeaseRevokeResponse response;
            *response.mutable_header() = Header(member, store_.revision());
            return [reply, failure, response] { reply(failure, response); };
          });
        });
}

Failure EtcdModel::ApplyRevoke(std::int64_t lease, LeaseEnd how, int origin) {
  if (leases_.erase(lease) == 0) return {kCodeNotFound, "etcdserver: requested lease not found"};
  if (observer_ != nullptr) observer_->LeaseEnded(lease, how, origin);
  const std::int64_t before = store_.revision();
  store_.DropLease(lease);
  if (store_.revision() != before && observer_ != nullptr) {
    observer_->Committed(store_.revision(), origin);
  }
  return {};
}

bool EtcdModel::OperatorRevoke(std::int64_t lease) {
  if (!Serving() || !leases_.contains(lease)) return false;
  Carry({.command =
             [&] {
               ApplyRevoke(lease, LeaseEnd::kRevoked, kByOperator);
               return Reply{};
             },
         .member = leader_});
  return true;
}

std::vector<std::int64_t> EtcdModel::Leases() const {
  std::vector<std::int64_t> ids;
  for (const auto& [id, lease] : leases_) ids.push_back(id);
  return ids;
}

void EtcdModel::TimeToLive(int member, const pb::LeaseTimeToLiveRequest& request,
                           Replied<pb::LeaseTimeToLiveResponse> reply) {
  Serve(member, Phase::kReading, [this, member, request, reply = std::move(reply)] {
    if (!Connected(member) || !Serving()) return;
    pb::LeaseTimeToLiveResponse response;
    *response.mutable_header() = Header(member, members_[Index(member)].revision);
    response.set_id(request.id());
    response.set_ttl(-1);
    if (const auto found = leases_.find(request.id()); found != leases_.end()) {
      if (request.keys()) {
        for (const std::string& key : store_.KeysOf(request.id())) response.add_keys(key);
      }
      response.set_ttl((found->second.expires - world_.now()) / seconds(1));
      response.set_grantedttl(found->second.ttl / seconds(1));
    }
    reply({}, response);
  });
}

// The TTL for the answer; 0 if the lease is gone.
std::int64_t EtcdModel::RenewOnLeader(std::int64_t id) {
  const auto found = leases_.find(id);
  if (found == leases_.end()) return 0;
  Lease& lease = found->second;
  if (lease.revoking || lease.expires <= world_.now()) {
    if (options_.personality == Personality::kDocumented || !lease.revoking) return 0;
    world_.Hit(Fault::kRenewedWhileRevoked, Phase::kRenewing);
    return lease.ttl / seconds(1);
  }
  lease.expires = world_.now() + OnLeaderClock(lease.ttl);
  return lease.ttl / seconds(1);
}

void EtcdModel::KeepAlive(int member, std::int64_t lease,
                          std::function<void(const pb::LeaseKeepAliveResponse&)> reply) {
  ++served_.keepalives;
  Serve(member, Phase::kRenewing, [this, member, lease, reply = std::move(reply)] {
    const auto answer = [this, member, lease, reply](std::int64_t ttl) {
      pb::LeaseKeepAliveResponse response;
      *response.mutable_header() = Header(member, members_[Index(member)].revision);
      response.set_id(lease);
      response.set_ttl(ttl);
      reply(response);
    };
    Member& state = members_[Index(member)];
    const auto believed = state.believed.find(lease);
    if (believed != state.believed.end() && world_.now() < state.believes_until) {
      world_.Hit(Fault::kStuckLeaderAnswered, Phase::kRenewing);
      believed->second.expires = world_.now() + believed->second.ttl;
      return answer(believed->second.ttl / seconds(1));
    }
    if (!Connected(member) || !Serving()) return world_.Hit(WhyUnserved(member), Phase::kRenewing);
    if (member == leader_) return answer(RenewOnLeader(lease));
    world_.After(random_.Between(kForwardLeast, kForwardMost), [this, member, lease, answer] {
      if (Connected(member) && Serving()) answer(RenewOnLeader(lease));
    });
  });
}

void EtcdModel::Scan() {
  world_.After(kScanEvery, [this] { Scan(); });
  if (!Serving()) return;
  for (auto& [id, lease] : leases_) {
    if (lease.revoking || lease.expires > world_.now()) continue;
    lease.revoking = true;
    Propose(leader_, {}, [this, expired = id] {
      ApplyRevoke(expired, LeaseEnd::kExpired, kByEtcd);
      return Reply{};
    });
  }
}

void EtcdModel::Status(int member, Replied<pb::StatusResponse> reply) {
  Serve(member, Phase::kReading, [this, member, reply = std::move(reply)] {
    pb::StatusResponse response;
    *response.mutable_header() = Header(member, members_[Index(member)].revision);
    const bool old = options_.personality == Personality::k3423;
    response.set_version(old ? "3.4.23" : "3.6.9");
    response.set_leader(leader_ < 0 ? 0 : static_cast<std::uint64_t>(leader_) + 1);
    reply({}, response);
  });
}

}  // namespace baton::sim
