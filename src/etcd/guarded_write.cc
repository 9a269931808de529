#include "etcd/guarded_write.h"

#include <utility>

#include "base/check.h"
#include "etcd/records.h"

namespace baton::etcd {
namespace {

using Kind = Guard::Kind;

Guard ModIs(std::string key, Revision revision) {
  return {std::move(key), Kind::kModIs, revision.value};
}

Guard CreateIs(std::string key, Revision revision) {
  return {std::move(key), Kind::kCreateIs, revision.value};
}

Guard LeaseIs(std::string key, SessionId session) {
  return {std::move(key), Kind::kLeaseIs, session.value, true};
}

Guard LeaseIsNot(std::string key, SessionId session) {
  return {std::move(key), Kind::kLeaseIsNot, session.value, true};
}

// Whether the order was in force already, as read. The guards hold only if it was read right. Of
// orders with a value the write does not know the value before.
bool Repeats(const PolicyWrite& write) {
  const bool was_present = write.read.value != 0;
  if (!write.policy.present || !was_present) return write.policy.present == was_present;
  const PolicyKind kind = write.policy.name.kind;
  return kind == PolicyKind::kDrain || kind == PolicyKind::kPause || kind == PolicyKind::kRebalance;
}

// Turns each kind of write into guards and effects.
struct Builder {
  const Keyspace& keys;

  GuardedWrite operator()(const ConfigCreate& write) const {
    const std::string key = keys.ConfigKey();
    return Single({.guards = {CreateIs(key, Revision{})},
                   .effects = {Effect{.key = key, .value = EncodeConfig(write.config)}}});
  }

  GuardedWrite operator()(const ConfigMend& write) const {
    const std::string key = keys.ConfigKey();
    GuardedWrite result = UnderSession(write.guard);
    result.items.push_back({.guards = {ModIs(key, write.read)},
                            .effects = {Effect{.key = key, .value = EncodeConfig(write.config)}}});
    return result;
  }

  GuardedWrite operator()(const ConfigChange& write) const {
    const std::string key = keys.ConfigKey();
    return Single({.guards = {ModIs(key, write.read),
                              {keys.MembersPrefix(), Kind::kModsUpTo, write.members.value}},
                   .effects = {Effect{.key = key, .value = EncodeConfig(write.config)}}});
  }

  GuardedWrite operator()(const MemberCreate& write) const {
    const std::string key = keys.MemberKey(write.member.node);
    Effect put = PutMember(write.member);
    put.read_after = true;
    return Single({.guards = {CreateIs(key, Revision{})}, .effects = {std::move(put)}});
  }

  GuardedWrite operator()(const MemberTakeover& write) const {
    BATON_CHECK(write.read.value > 0);
    const std::string key = keys.MemberKey(write.member.node);
    Effect put = PutMember(write.member);
    put.read_after = true;  // the predecessor's create revision stays
    return Single({.guards = {ModIs(key, write.read)}, .effects = {std::move(put)}});
  }

  GuardedWrite operator()(const MemberUpdate& write) const {
    BATON_CHECK(write.member.session == write.guard.session);
    BATON_CHECK(write.member.node == write.guard.node);
    Effect put = PutMember(write.member);
    put.create_revision = write.guard.create_revision;
    return Single({.guards = SessionGuards(keys, write.guard), .effects = {std::move(put)}});
  }

  GuardedWrite operator()(const ClaimBatch& write) const {
    GuardedWrite result = UnderSession(write.guard);
    if (write.config) result.shared.push_back(ModIs(keys.ConfigKey(), *write.config));
    result.items.reserve(write.claims.size());
    for (const Claim& claim : write.claims) result.items.push_back(MakeClaim(write, claim));
    return result;
  }

  GuardedWrite operator()(const TransferBatch& write) const {
    GuardedWrite result;
    for (const Transfer& transfer : write.transfers) {
      result.items.push_back(MakeTransfer(write.from, transfer));
      // Not shared: a refused item's record and move are read back, and they decide.
      Guard config = ModIs(keys.ConfigKey(), transfer.config);
      config.common = true;
      result.items.back().guards.push_back(std::move(config));
    }
    return result;
  }

  GuardedWrite operator()(const AbandonBatch& write) const {
    GuardedWrite result;
    for (const Abandon& abandon : write.abandons) result.items.push_back(MakeAbandon(abandon));
    return result;
  }

  GuardedWrite operator()(const ResignBatch& write) const {
    GuardedWrite result;
    for (const Resign& resign : write.resigns) {
      result.items.push_back(MakeResign(write, resign));
    }
    return result;
  }

  GuardedWrite operator()(const MoveBatch& write) const {
    GuardedWrite result;
    if (write.target) result = UnderSession(*write.target);
    if (write.balancer_term) {
      const std::string key = keys.BalancerKey();
      result.shared.push_back(ModIs(key, Revision{write.balancer_term->value}));
    }
    if (write.policies) {
      result.shared.push_back(ModIs(keys.PolicyKey({PolicyKind::kChanged}), *write.policies));
    }
    for (const MoveWrite& move : write.moves) result.items.push_back(MakeMove(move));
    return result;
  }

  GuardedWrite operator()(const PolicyWrite& write) const {
    const std::string key = keys.PolicyKey(write.policy.name);
    Effect effect{.key = key, .deletes = !write.policy.present};
    if (!effect.deletes) effect.value = EncodePolicy(write.policy);
    const std::string changed = keys.PolicyKey({PolicyKind::kChanged});
    // Without an actor nobody ordered it: a rebalance is done.
    const std::string& actor = write.policy.actor;
    PolicyFact news;
    news.actor = actor;
    if (!actor.empty() && !Repeats(write)) news.change = ChangeWords(write.policy);
    return Single({.guards = {ModIs(key, write.read), ModIs(changed, write.changed)},
                   .effects = {std::move(effect), {.key = changed, .value = EncodePolicy(news)}}});
  }

  GuardedWrite operator()(const SessionEnd& write) const {
    BATON_CHECK(write.dead.session.value > 0);
    const std::string key = keys.MemberKey(write.dead.node);
    DeathFact death;
    death.node = write.dead.node;
    death.session = write.dead.session;
    death.detect = write.detect;
    return Single({.guards = {LeaseIs(key, write.dead.session)},
                   .effects = {Effect{.key = key, .deletes = true},
                               Effect{.key = keys.DeathKey(), .value = EncodeDeath(death)}}});
  }

  GuardedWrite operator()(const RipeMark& write) const {
    const std::string key = keys.RipeKey(write.node);
    if (write.up_to.value == 0) {
      BATON_CHECK(write.read.value > 0);
      return Single(
          {.guards = {ModIs(key, write.read)}, .effects = {Effect{.key = key, .deletes = true}}});
    }
    RipeFact ripe;
    ripe.node = write.node;
    ripe.up_to = write.up_to;
    return Single({.guards = {ModIs(key, write.read)},
                   .effects = {Effect{.key = key, .value = EncodeRipe(ripe)}}});
  }

  GuardedWrite operator()(const ForceRelease& write) const {
    const bool known = write.dead.session.value > 0;
    BATON_CHECK(write.term.value > 0 && (known || write.quarantined));
    RecordFact record;
    record.session = write.dead.session;
    record.previous = write.dead.node;
    record.reason = Reason::kOperator;
    record.actor = write.actor;
    record.tally = write.tally;
    record.released = write.stopped;
    record.unknown_fields = write.unknown_fields;
    const Revision read{write.term.value};
    GuardedItem item{.guards = {ModIs(keys.ShardKey(write.shard), read)},
                     .effects = {PutRecord(write.shard, std::move(record))}};
    if (known) {
      item.guards.push_back(LeaseIsNot(keys.MemberKey(write.dead.node), write.dead.session));
    }
    if (write.quarantined) {
      item.effects.push_back(
          Effect{.key = keys.QuarantineKey(write.shard), .value = *write.quarantined});
    }
    return Single(std::move(item));
  }

 private:
  static GuardedWrite Single(GuardedItem item) {
    GuardedWrite result;
    result.items.push_back(std::move(item));
    return result;
  }

  GuardedWrite UnderSession(const SessionGuard& guard) const {
    GuardedWrite result;
    result.shared = SessionGuards(keys, guard);
    return result;
  }

  Effect PutMember(const MemberFact& member) const {
    BATON_CHECK(member.session.value > 0);
    return Effect{
        .key = keys.MemberKey(member.node), .value = EncodeMember(member), .lease = member.session};
  }

  Effect PutRecord(std::optional<ShardId> shard, RecordFact record) const {
    record.present = true;
    Effect effect{.key = keys.RecordKey(shard), .value = EncodeRecord(record, shard)};
    if (shard) {
      effect.fact = ShardRecordFact{*shard, std::move(record)};
    } else {
      effect.fact = BalancerFact{std::move(record)};
    }
    return effect;
  }

  GuardedItem MakeClaim(const ClaimBatch& write, const Claim& claim) const {
    const std::string key = keys.RecordKey(claim.shard);
    GuardedItem item{.guards = {ModIs(key, claim.read)}, .effects = {}};
    if (claim.dead) {
      item.guards.push_back(LeaseIsNot(keys.MemberKey(claim.dead->node), claim.dead->session));
    }
    RecordFact record;
    record.leader = write.guard.node;
    record.session = write.guard.session;
    record.directory = write.directory;
    record.previous = claim.previous;
    record.reason = claim.reason;
    if (claim.quarantined) record.actor = kDamagedRecordActor;
    record.cause = claim.cause;
    record.tally = claim.tally;
    record.unknown_fields = claim.unknown_fields;
    item.effects.push_back(PutRecord(claim.shard, std::move(record)));
    if (claim.quarantined) {
      item.effects.push_back(
          Effect{.key = keys.QuarantineKey(claim.shard), .value = *claim.quarantined});
    }
    return item;
  }

  GuardedItem MakeTransfer(const NodeId& from, const Transfer& transfer) const {
    BATON_CHECK(transfer.term.value > 0 && transfer.move_read.value > 0);
    const std::string key = keys.ShardKey(transfer.shard);
    const std::string move = keys.MoveKey(transfer.shard);
    RecordFact record;
    record.leader = transfer.to.node;
    record.session = transfer.to.session;
    record.directory = transfer.directory;
    record.previous = from;
    record.reason = transfer.reason;
    record.cause = transfer.cause;
    record.actor = transfer.actor;
    record.tally = transfer.tally;
    record.unknown_fields = transfer.unknown_fields;
    return {.guards = {ModIs(key, Revision{transfer.term.value}), ModIs(move, transfer.move_read),
                       LeaseIs(keys.MemberKey(transfer.to.node), transfer.to.session)},
            .effects = {PutRecord(transfer.shard, std::move(record)),
                        Effect{.key = move, .deletes = true}}};
  }

  GuardedItem MakeAbandon(const Abandon& abandon) const {
    BATON_CHECK(abandon.term.value > 0);
    return {.guards = {ModIs(keys.ShardKey(abandon.shard), Revision{abandon.term.value})},
            .effects = {Effect{.key = keys.MoveKey(abandon.shard), .deletes = true}}};
  }

  GuardedItem MakeResign(const ResignBatch& write, const Resign& resign) const {
    BATON_CHECK(resign.term.value > 0);
    const std::string key = keys.RecordKey(resign.shard);
    RecordFact record;
    record.session = write.from.session;
    record.resigned_by = write.from.node;
    record.previous = write.from.node;
    record.reason = resign.reason;
    record.tally = resign.tally;
    record.directory = write.directory;
    record.released = resign.released;
    record.unknown_fields = resign.unknown_fields;
    return {.guards = {ModIs(key, Revision{resign.term.value})},
            .effects = {PutRecord(resign.shard, std::move(record))}};
  }

  GuardedItem MakeMove(const MoveWrite& write) const {
    const std::string key = keys.MoveKey(write.move.shard);
    Effect effect{.key = key, .deletes = !write.move.present};
    if (!effect.deletes) effect.value = EncodeMove(write.move);
    return {.guards = {ModIs(key, write.read)}, .effects = {std::move(effect)}};
  }
};

}  // namespace

Guards SessionGuards(const Keyspace& keyspace, const SessionGuard& guard) {
  BATON_CHECK(guard.session.value > 0 && guard.create_revision.value > 0);
  const std::string key = keyspace.MemberKey(guard.node);
  return {LeaseIs(key, guard.session), CreateIs(key, guard.create_revision)};
}

GuardedWrite MakeGuardedWrite(const Keyspace& keyspace, const Write& write) {
  GuardedWrite result = std::visit(Builder{keyspace}, write);
  BATON_CHECK(!result.items.empty());
  return result;
}

}  // namespace baton::etcd
