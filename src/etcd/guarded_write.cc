#include "etcd/guarded_write.h"

#include <utility>

#include "base/check.h"
#include "etcd/records.h"

namespace baton::etcd {
namespace {

using etcdserverpb::Compare;

Compare CompareMod(std::string key, Revision revision) {
  Compare compare;
  compare.set_result(Compare::EQUAL);
  compare.set_target(Compare::MOD);
  compare.set_key(std::move(key));
  compare.set_mod_revision(revision.value);
  return compare;
}

Compare CompareCreate(std::string key, Revision revision) {
  Compare compare;
  compare.set_result(Compare::EQUAL);
  compare.set_target(Compare::CREATE);
  compare.set_key(std::move(key));
  compare.set_create_revision(revision.value);
  return compare;
}

Compare CompareLease(std::string key, Compare::CompareResult result, SessionId session) {
  Compare compare;
  compare.set_result(result);
  compare.set_target(Compare::LEASE);
  compare.set_key(std::move(key));
  compare.set_lease(session.value);
  return compare;
}

// Turns each kind of write into guards and effects, as the table in DESIGN section 2 says.
struct Builder {
  const Keyspace& keys;

  GuardedWrite operator()(const ConfigCreate& write) const {
    const std::string key = keys.ConfigKey();
    return Single({.guards = {CompareCreate(key, Revision{})},
                   .effects = {Effect{.key = key, .value = EncodeConfig(write.config)}},
                   .read_back = {key}});
  }

  GuardedWrite operator()(const MemberCreate& write) const {
    const std::string key = keys.MemberKey(write.member.node);
    Effect put = PutMember(write.member);
    put.read_after = true;
    return Single({.guards = {CompareCreate(key, Revision{})},
                   .effects = {std::move(put)},
                   .read_back = {key}});
  }

  GuardedWrite operator()(const MemberTakeover& write) const {
    BATON_CHECK(write.read.value > 0);
    const std::string key = keys.MemberKey(write.member.node);
    Effect put = PutMember(write.member);
    put.read_after = true;  // the predecessor's create revision stays
    return Single(
        {.guards = {CompareMod(key, write.read)}, .effects = {std::move(put)}, .read_back = {key}});
  }

  GuardedWrite operator()(const MemberUpdate& write) const {
    BATON_CHECK(write.member.session == write.guard.session);
    BATON_CHECK(write.member.node == write.guard.node);
    Effect put = PutMember(write.member);
    put.create_revision = write.guard.create_revision;
    return Single({.guards = SessionCompares(keys, write.guard),
                   .effects = {std::move(put)},
                   .read_back = {keys.MemberKey(write.guard.node)}});
  }

  GuardedWrite operator()(const ClaimBatch& write) const {
    GuardedWrite result = UnderSession(write.guard);
    for (const Claim& claim : write.claims) result.items.push_back(MakeClaim(write.guard, claim));
    return result;
  }

  GuardedWrite operator()(const TransferBatch& write) const {
    GuardedWrite result;
    for (const Transfer& transfer : write.transfers) {
      result.items.push_back(MakeTransfer(write.from, transfer));
    }
    return result;
  }

  GuardedWrite operator()(const AbandonBatch& write) const {
    GuardedWrite result = UnderSession(write.guard);
    for (const Abandon& abandon : write.abandons) {
      result.items.push_back(MakeAbandon(write.guard, abandon));
    }
    return result;
  }

  GuardedWrite operator()(const ResignBatch& write) const {
    GuardedWrite result;
    for (const Resign& resign : write.resigns) {
      result.items.push_back(MakeResign(write.from, resign));
    }
    return result;
  }

  GuardedWrite operator()(const MoveBatch& write) const {
    GuardedWrite result;
    if (write.target) result = UnderSession(*write.target);
    if (write.balancer_term) {
      const std::string key = keys.BalancerKey();
      result.shared.push_back(CompareMod(key, Revision{write.balancer_term->value}));
      result.shared_read_back.push_back(key);
    }
    for (const MoveWrite& move : write.moves) result.items.push_back(MakeMove(move));
    return result;
  }

  GuardedWrite operator()(const PolicyWrite& write) const {
    const std::string key = keys.PolicyKey(write.policy.name);
    Effect effect{.key = key, .deletes = !write.policy.present};
    if (!effect.deletes) effect.value = EncodePolicy(write.policy);
    return Single({.guards = {CompareMod(key, write.read)},
                   .effects = {std::move(effect)},
                   .read_back = {key}});
  }

 private:
  static GuardedWrite Single(GuardedItem item) {
    GuardedWrite result;
    result.items.push_back(std::move(item));
    return result;
  }

  GuardedWrite UnderSession(const SessionGuard& guard) const {
    GuardedWrite result;
    result.shared = SessionCompares(keys, guard);
    result.shared_read_back = {keys.MemberKey(guard.node)};
    return result;
  }

  Effect PutMember(const MemberFact& member) const {
    BATON_CHECK(member.session.value > 0);
    return Effect{
        .key = keys.MemberKey(member.node), .value = EncodeMember(member), .lease = member.session};
  }

  Effect PutRecord(std::optional<ShardId> shard, const RecordFact& record) const {
    return Effect{.key = keys.RecordKey(shard), .value = EncodeRecord(record, shard)};
  }

  GuardedItem MakeClaim(const SessionGuard& guard, const Claim& claim) const {
    const std::string key = keys.RecordKey(claim.shard);
    GuardedItem item{.guards = {CompareMod(key, claim.read)}, .effects = {}, .read_back = {key}};
    if (claim.dead) {
      const std::string dead = keys.MemberKey(claim.dead->node);
      item.guards.push_back(CompareLease(dead, Compare::NOT_EQUAL, claim.dead->session));
      item.read_back.push_back(dead);
    }
    RecordFact record;
    record.leader = guard.node;
    record.session = guard.session;
    record.previous = claim.previous;
    record.reason = claim.reason;
    record.unknown_fields = claim.unknown_fields;
    item.effects.push_back(PutRecord(claim.shard, record));
    if (claim.quarantined) {
      item.effects.push_back(
          Effect{.key = keys.QuarantineKey(claim.shard, claim.read), .value = *claim.quarantined});
    }
    return item;
  }

  GuardedItem MakeTransfer(const NodeId& from, const Transfer& transfer) const {
    BATON_CHECK(transfer.term.value > 0 && transfer.move_read.value > 0);
    const std::string key = keys.ShardKey(transfer.shard);
    const std::string move = keys.MoveKey(transfer.shard);
    const std::string target = keys.MemberKey(transfer.to.node);
    RecordFact record;
    record.leader = transfer.to.node;
    record.session = transfer.to.session;
    record.previous = from;
    record.reason = transfer.reason;
    record.actor = transfer.actor;
    record.unknown_fields = transfer.unknown_fields;
    return {.guards = {CompareMod(key, Revision{transfer.term.value}),
                       CompareMod(move, transfer.move_read),
                       CompareLease(target, Compare::EQUAL, transfer.to.session)},
            .effects = {PutRecord(transfer.shard, record), Effect{.key = move, .deletes = true}},
            .read_back = {key, move, target}};
  }

  GuardedItem MakeAbandon(const SessionGuard& guard, const Abandon& abandon) const {
    BATON_CHECK(abandon.term.value > 0);
    const std::string key = keys.ShardKey(abandon.shard);
    RecordFact record;
    record.leader = guard.node;
    record.session = guard.session;
    record.previous = guard.node;
    record.reason = abandon.reason;
    record.unknown_fields = abandon.unknown_fields;
    return {.guards = {CompareMod(key, Revision{abandon.term.value})},
            .effects = {PutRecord(abandon.shard, record)},
            .read_back = {key}};
  }

  GuardedItem MakeResign(const SessionRef& from, const Resign& resign) const {
    BATON_CHECK(resign.term.value > 0);
    const std::string key = keys.RecordKey(resign.shard);
    RecordFact record;
    record.session = from.session;
    record.resigned_by = from.node;
    record.previous = from.node;
    record.reason = resign.reason;
    record.unknown_fields = resign.unknown_fields;
    return {.guards = {CompareMod(key, Revision{resign.term.value})},
            .effects = {PutRecord(resign.shard, record)},
            .read_back = {key}};
  }

  GuardedItem MakeMove(const MoveWrite& write) const {
    const std::string key = keys.MoveKey(write.move.shard);
    Effect effect{.key = key, .deletes = !write.move.present};
    if (!effect.deletes) effect.value = EncodeMove(write.move);
    return {.guards = {CompareMod(key, write.read)},
            .effects = {std::move(effect)},
            .read_back = {key}};
  }
};

}  // namespace

std::vector<Compare> SessionCompares(const Keyspace& keyspace, const SessionGuard& guard) {
  BATON_CHECK(guard.session.value > 0 && guard.create_revision.value > 0);
  const std::string key = keyspace.MemberKey(guard.node);
  return {CompareLease(key, Compare::EQUAL, guard.session),
          CompareCreate(key, guard.create_revision)};
}

GuardedWrite MakeGuardedWrite(const Keyspace& keyspace, const Write& write) {
  GuardedWrite result = std::visit(Builder{keyspace}, write);
  BATON_CHECK(!result.items.empty());
  return result;
}

}  // namespace baton::etcd
