// keys: names below the group's prefix, ours and others'.
//
// Must hold: a key gives a fact only if it is exactly the key that the fact is written to (one key
// for each shard, node and policy), present or absent. All other keys are strays or quarantine.
#include "etcd/keyspace.h"
#include "fuzz/targets.h"

namespace baton::fuzz {
namespace {

const etcd::Keyspace& Keys() {
  static const etcd::Keyspace keys(etcd::kDefaultPrefix, "orders");
  return keys;
}

struct KeyOf {
  std::string operator()(const ConfigFact&) const { return Keys().ConfigKey(); }
  std::string operator()(const MemberFact& fact) const { return Keys().MemberKey(fact.node); }
  std::string operator()(const ShardRecordFact& fact) const { return Keys().ShardKey(fact.shard); }
  std::string operator()(const MoveFact& fact) const { return Keys().MoveKey(fact.shard); }
  std::string operator()(const BalancerFact&) const { return Keys().BalancerKey(); }
  std::string operator()(const PolicyFact& fact) const { return Keys().PolicyKey(fact.name); }
  std::string operator()(const DeathFact&) const { return Keys().DeathKey(); }
  std::string operator()(const RipeFact& fact) const { return Keys().RipeKey(fact.node); }
};

void MustBeItsKey(const etcd::Decoded& decoded, const std::string& key) {
  Must(!(decoded.fact && decoded.stray), "a stray key gives no fact", key);
  if (decoded.fact) Must(std::visit(KeyOf(), *decoded.fact) == key, "a fact has one key", key);
}

}  // namespace

void RunKeys(std::string_view bytes) {
  Input input(bytes);
  const bool below = input.Choice(2) == 0;
  const std::string key = (below ? Keys().begin() : "") + std::string(input.Rest());
  etcdserverpb::KeyValue stored;
  stored.set_key(key);
  stored.set_mod_revision(7);
  const etcd::Decoded present = Keys().Decode(stored);
  const etcd::Decoded absent = Keys().DecodeAbsent(key, Revision{7});
  MustBeItsKey(present, key);
  MustBeItsKey(absent, key);
  Must(present.stray == absent.stray && present.fact.has_value() == absent.fact.has_value(),
       "a key is ours whether present or absent", key);
  const bool ours = key.starts_with(Keys().begin());
  Must(ours || present.stray, "a key of another group gives nothing", key);
  const bool in_range = key >= Keys().begin() && key < Keys().end();
  Must(ours == in_range, "the group's range has its keys alone", key);
}

std::vector<Seed> KeysSeeds() {
  const auto below = [](const std::string& name) { return std::string(1, '\0') + name; };
  return {{"config", below("config")},
          {"member", below("members/n1")},
          {"shard", below("shards/17")},
          {"move", below("moves/17")},
          {"balancer", below("balancer")},
          {"policy", below("policy/drain/n1")},
          {"leading-zero", below("shards/017")},
          {"quarantine", below("quarantine/3/700")},
          {"died", below("died")},
          {"ripe", below("ripe/n1")},
          {"elsewhere", "\x01/baton/v1/order"}};
}

}  // namespace baton::fuzz
