#include "sim/crowd.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/check.h"
#include "core/assignment.h"
#include "core/options.h"
#include "core/succession.h"
#include "etcd/guarded_txn.h"
#include "etcd/records.h"

namespace baton::sim {
namespace {

constexpr int kOrigin = 1'000'000;
constexpr std::chrono::hours kLeaseTtl{20};
constexpr Duration kLook = milliseconds(5);
constexpr std::size_t kPutsAtOnce = 100;

pb::RequestOp PutOf(const std::string& key, const std::string& value, std::int64_t lease) {
  pb::RequestOp operation;
  auto* const put = operation.mutable_request_put();
  put->set_key(key);
  put->set_value(value);
  put->set_lease(lease);
  return operation;
}

}  // namespace

Crowd::Crowd(Options options) : options_(options), keyspace_(etcd::kDefaultPrefix, kGroup) {
  AddReal("real");
  // Members come after the config.
  Put(keyspace_.ConfigKey(),
      etcd::EncodeConfig({.present = true,
                          .shards = options_.shards,
                          .schema = kSchema,
                          .cluster_id = EtcdModel::kClusterId}),
      0);
  for (int n = 0; n < options_.members; ++n) {
    char name[16];
    std::snprintf(name, sizeof(name), "n%04d", n);
    members_.push_back({.name = name});
  }
}

void Crowd::AddReal(const NodeId& node) {
  core::CoreOptions core = VirtualGroup::OptionsFor(node, options_.shards);
  core.has_listener = options_.listener;
  core.self.zone = ZoneOf(options_.members);
  if (process_ != nullptr) process_->executor().Meter(nullptr);
  process_ = &group_.Add(std::move(core));
  process_->executor().Meter([this](Duration took) {
    ++cost_.turns;
    cost_.all += took;
    cost_.longest = std::max(cost_.longest, took);
  });
}

void Crowd::StartAnother() {
  AddReal("another");
  Start();
}

void Crowd::Start() {
  process_->Start();
  while (!process_->core().view().complete() || !process_->core().session().member()) {
    RunFor(kLook);
  }
}

std::string Crowd::ZoneOf(int number) const {
  if (options_.zones == 0) return {};
  return ZoneName(number % options_.zones);
}

void Crowd::Put(const std::string& key, const std::string& value, std::int64_t lease) {
  pb::TxnRequest request;
  *request.add_success() = PutOf(key, value, lease);
  BATON_CHECK(etcd_.OperatorTxn(request));
}

void Crowd::Join(int number) {
  Member& member = members_[static_cast<std::size_t>(number)];
  member.lease = 1'000'000 + number;
  pb::LeaseGrantRequest grant;
  grant.set_id(member.lease);
  grant.set_ttl(std::chrono::seconds(kLeaseTtl).count());
  etcd_.Grant(etcd_.leader(), grant, kOrigin, [](const Failure&, const pb::LeaseGrantResponse&) {});
  while (!etcd_.LeaseLives(member.lease)) RunFor(milliseconds(1));
  member.there = true;
  Update(number);
}

void Crowd::Update(int number) {
  const Member& member = members_[static_cast<std::size_t>(number)];
  MemberFact fact;
  fact.node = member.name;
  fact.session = SessionId{member.lease};
  fact.ttl = seconds(10);
  fact.address = "10.0.0.1:7400";
  fact.service_address = "10.0.0.1:9000";
  fact.protocol_version = kProtocolVersion;
  fact.zone = ZoneOf(number);
  fact.ready = member.ready;
  Put(keyspace_.MemberKey(member.name), etcd::EncodeMember(fact), member.lease);
}

void Crowd::SetRules(const Placement& placement) {
  ConfigFact config = etcd::DecodeConfig(etcd_.store().Get(keyspace_.ConfigKey())->value());
  config.schema = kPlacementSchema;
  config.placement = placement;
  Put(keyspace_.ConfigKey(), etcd::EncodeConfig(config), 0);
}

void Crowd::StartAsBalancer(const Placement& rules) {
  SetRules(rules);
  Start();
  RunFor(milliseconds(100));
  BATON_CHECK(process_->core().view().balancer().leader == "real");
  for (int member = 0; member < options_.members; ++member) Join(member);
  RunFor(milliseconds(500));
}

void Crowd::SayReady(int number) {
  Member& member = members_[static_cast<std::size_t>(number)];
  const core::View& view = process_->core().view();
  member.ready.clear();
  for (std::uint32_t s = 0; s < options_.shards; ++s) {
    if (view.StandsBy(ShardId{s}, member.name)) member.ready.push_back(ShardId{s});
  }
  Update(number);
}

void Crowd::Die(int number) {
  Member& member = members_[static_cast<std::size_t>(number)];
  member.there = false;
  member.ready.clear();
  BATON_CHECK(etcd_.OperatorRevoke(member.lease));
}

void Crowd::EndSession() { BATON_CHECK(etcd_.OperatorRevoke(process_->session().value)); }

pb::RequestOp Crowd::PutRecord(ShardId shard, const Member& leader) const {
  RecordFact record;
  record.leader = leader.name;
  record.session = SessionId{leader.lease};
  record.previous = process_->core().view().record(shard).leader;
  return PutOf(keyspace_.ShardKey(shard), etcd::EncodeRecord(record, shard), 0);
}

// The claims that the assignment gives to the script's members, as the real node sees it.
void Crowd::PlanClaims() {
  claims_.clear();
  const core::View& view = process_->core().view();
  const core::AssignmentOfView of_view =
      core::AssignmentFrom(view, core::CoreOptions{}.settle, group_.clock(*process_).Now());
  std::map<NodeId, std::size_t> number;
  for (std::size_t n = 0; n < members_.size(); ++n) {
    if (members_[n].there) number[members_[n].name] = n;
  }
  for (const core::PlannedClaim& claim : core::Assign(of_view.input).claims) {
    const auto found = number.find(of_view.input.members[claim.to].id);
    if (found != number.end()) {
      claims_.emplace_back(of_view.shard_of[claim.shard.value], found->second);
    }
  }
  // All members claim at the same time.
  for (std::size_t i = claims_.size(); i > 1; --i) {
    std::swap(claims_[i - 1], claims_[world_.random().Below(i)]);
  }
}

void Crowd::ClaimOne() {
  const auto [shard, number] = claims_.back();
  claims_.pop_back();
  const RecordFact& known = process_->core().view().record(shard);
  pb::TxnRequest request;
  etcd::AddCompare({.key = keyspace_.ShardKey(shard),
                    .kind = etcd::Guard::Kind::kModIs,
                    .number = known.present ? known.revision.value : 0},
                   request);
  *request.add_success() = PutRecord(shard, members_[number]);
  etcd_.OperatorTxn(request);
}

void Crowd::GiveAll() {
  PlanClaims();
  for (std::size_t first = 0; first < claims_.size(); first += kPutsAtOnce) {
    pb::TxnRequest request;
    for (std::size_t i = first; i < std::min(claims_.size(), first + kPutsAtOnce); ++i) {
      *request.add_success() = PutRecord(claims_[i].first, members_[claims_[i].second]);
    }
    BATON_CHECK(etcd_.OperatorTxn(request));
    RunFor(microseconds(100));
  }
  claims_.clear();
}

void Crowd::Give(ShardId shard, int member) {
  pb::TxnRequest request;
  *request.add_success() = PutRecord(shard, members_[static_cast<std::size_t>(member)]);
  BATON_CHECK(etcd_.OperatorTxn(request));
}

void Crowd::RunFor(Duration length) { world_.RunUntil(world_.now() + length); }

bool Crowd::RunUntilAllAreLed(Duration most) {
  const core::View& view = process_->core().view();
  const auto watchers = static_cast<std::int64_t>(members_.size() + 1);
  const Duration each = seconds(1) * watchers / core::kEventDeliveriesPerSecond;
  const TimePoint begun = world_.now();
  TimePoint next = begun;
  while (view.vacancies() > 0) {
    if (world_.now() - begun > most) return false;
    const bool begins =
        process_->core().succession().settled() && !process_->core().succession().braking();
    if (claims_.empty() && begins) PlanClaims();
    next = std::max(next, world_.now() - kLook);
    for (; begins && !claims_.empty() && next <= world_.now(); next += each) ClaimOne();
    RunFor(kLook);
  }
  claims_.clear();
  return true;
}

LoopCost Crowd::TakeCost() { return std::exchange(cost_, {}); }

}  // namespace baton::sim
