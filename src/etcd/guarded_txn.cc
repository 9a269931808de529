#include "etcd/guarded_txn.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include <google/protobuf/arena.h>

#include "base/check.h"

namespace baton::etcd {
namespace {

using etcdserverpb::Compare;
using etcdserverpb::RangeResponse;
using etcdserverpb::ResponseOp;
using etcdserverpb::TxnRequest;
using etcdserverpb::TxnResponse;
using Responses = google::protobuf::RepeatedPtrField<ResponseOp>;

// One block holds most transactions: about 300 bytes per operation.
google::protobuf::ArenaOptions ArenaOptions() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = std::size_t{48} * 1024;
  options.max_block_size = std::size_t{192} * 1024;
  return options;
}

// The first key after those that begin with `prefix`, whose last character is no 0xff.
std::string PrefixEnd(std::string prefix) {
  ++prefix.back();
  return prefix;
}

void AddRange(std::string_view key,
              google::protobuf::RepeatedPtrField<etcdserverpb::RequestOp>& to) {
  to.Add()->mutable_request_range()->set_key(key.data(), key.size());
}

void AddEffects(const GuardedItem& item, TxnRequest& txn) {
  for (const Effect& effect : item.effects) {
    if (effect.deletes) {
      txn.add_success()->mutable_request_delete_range()->set_key(effect.key);
      continue;
    }
    auto* put = txn.add_success()->mutable_request_put();
    put->set_key(effect.key);
    put->set_value(effect.value);
    put->set_lease(effect.lease.value);
    if (effect.read_after) AddRange(effect.key, *txn.mutable_success());
  }
}

// Adds the keys that the guards compare, each once; not the ranges, which may have many keys.
using Keys = std::vector<std::string_view>;
void AddKeys(const Guards& guards, Keys& keys) {
  for (const Guard& guard : guards) {
    if (guard.kind == Guard::Kind::kModsUpTo) continue;
    if (std::find(keys.begin(), keys.end(), guard.key) == keys.end()) keys.push_back(guard.key);
  }
}

Keys ReadBack(const Guards& guards) {
  Keys keys;
  AddKeys(guards, keys);
  return keys;
}

// The keys that a refused flat transaction reads. With one item: all keys that the guards compare,
// as its outcome is definite then. With several: only the shared guards' keys; the nested
// transactions read the rest.
Keys FlatReadBack(const Portion& portion) {
  Keys keys = ReadBack(portion.write->shared);
  if (portion.count == 1) AddKeys(portion.items().front().guards, keys);
  return keys;
}

// Finds guards that several items of a flat transaction have in common, so that each is compared
// once.
class CommonGuards {
 public:
  // Returns whether the guard is new, and remembers it.
  bool Add(const Guard& guard) {
    if (!guard.common) return true;
    const auto equal = [&](const Guard* other) { return *other == guard; };
    if (std::any_of(stated_.begin(), stated_.end(), equal)) return false;
    stated_.push_back(&guard);
    return true;
  }

 private:
  std::vector<const Guard*> stated_;  // few: the config, and one for each member concerned
};

void AddFlat(const Portion& portion, TxnRequest& txn) {
  for (const Guard& guard : portion.write->shared) AddCompare(guard, txn);
  CommonGuards common;
  for (const GuardedItem& item : portion.items()) {
    for (const Guard& guard : item.guards) {
      if (common.Add(guard)) AddCompare(guard, txn);
    }
    AddEffects(item, txn);
  }
  for (const std::string_view key : FlatReadBack(portion)) AddRange(key, *txn.mutable_failure());
}

void AddNested(const Portion& portion, TxnRequest& txn) {
  for (const Guard& guard : portion.write->shared) AddCompare(guard, txn);
  for (const GuardedItem& item : portion.items()) {
    TxnRequest& nested = *txn.add_success()->mutable_request_txn();
    for (const Guard& guard : item.guards) AddCompare(guard, nested);
    AddEffects(item, nested);
    for (const std::string_view key : ReadBack(item.guards)) {
      AddRange(key, *nested.mutable_failure());
    }
  }
  for (const std::string_view key : ReadBack(portion.write->shared)) {
    AddRange(key, *txn.mutable_failure());
  }
}

// Counts operations without building the transaction, while items are added one by one.
class Counter {
 public:
  Counter(const GuardedWrite& write, Shape shape)
      : shared_(write.shared.size()),
        shared_keys_(ReadBack(write.shared).size()),
        shape_(shape),
        compares_(write.shared.size()) {}

  void Add(const GuardedItem& item) {
    ++items_;
    const std::size_t own = Successes(item);
    successes_ += own;
    if (shape_ == Shape::kNested) {
      widest_ = std::max({widest_, item.guards.size(), own, ReadBack(item.guards).size()});
      return;
    }
    for (const Guard& guard : item.guards) compares_ += common_.Add(guard) ? 1 : 0;
    if (items_ == 1) single_keys_ = ReadBack(item.guards).size();
  }

  std::size_t Count() const {
    if (shape_ == Shape::kNested) return std::max({shared_, items_, shared_keys_}) + widest_;
    const std::size_t failures = shared_keys_ + (items_ == 1 ? single_keys_ : 0);
    return std::max({compares_, successes_, failures});
  }

 private:
  static std::size_t Successes(const GuardedItem& item) {
    std::size_t count = item.effects.size();
    for (const Effect& effect : item.effects) count += effect.read_after ? 1 : 0;
    return count;
  }

  const std::size_t shared_;
  const std::size_t shared_keys_;
  const Shape shape_;
  CommonGuards common_;
  std::size_t compares_;
  std::size_t items_ = 0;
  std::size_t successes_ = 0;
  std::size_t widest_ = 0;
  std::size_t single_keys_ = 0;
};

// The results of reading single keys.
using Stored = std::map<std::string_view, std::optional<etcdserverpb::KeyValue>>;

// The answers to ranges of `keys`, in that order; nullopt if the answer has another shape.
std::optional<Stored> ReadRanges(const Keys& keys, const Responses& responses) {
  if (static_cast<std::size_t>(responses.size()) != keys.size()) return std::nullopt;
  Stored stored;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const ResponseOp& response = responses[static_cast<int>(i)];
    if (!response.has_response_range()) return std::nullopt;
    const RangeResponse& range = response.response_range();
    auto& slot = stored[keys[i]];
    if (range.kvs_size() > 0) slot = range.kvs(0);
  }
  return stored;
}

void AppendFacts(const Keyspace& keyspace, const Stored& stored, Revision now,
                 std::vector<Fact>& facts) {
  for (const auto& [key, value] : stored) {
    Decoded decoded = value ? keyspace.Decode(*value) : keyspace.DecodeAbsent(key, now);
    if (decoded.fact) facts.push_back(std::move(*decoded.fact));
  }
}

// A range is not read: it counts as unchanged.
bool Holds(const Guard& guard, const Stored& stored) {
  const auto found = stored.find(guard.key);
  if (found == stored.end()) return true;
  const etcdserverpb::KeyValue value = found->second.value_or(etcdserverpb::KeyValue{});
  switch (guard.kind) {
    case Guard::Kind::kLeaseIs: return value.lease() == guard.number;
    case Guard::Kind::kLeaseIsNot: return value.lease() != guard.number;
    case Guard::Kind::kCreateIs: return value.create_revision() == guard.number;
    case Guard::Kind::kModIs: return value.mod_revision() == guard.number;
    case Guard::Kind::kModsUpTo: return true;
  }
  BATON_CHECK(false);
}

bool Hold(const Guards& guards, const Stored& stored) {
  return std::all_of(guards.begin(), guards.end(),
                     [&](const Guard& guard) { return Holds(guard, stored); });
}

constexpr const char* kSharedFalse = "the session or leadership that guards the write is gone";
constexpr const char* kOneFalse = "a guard was false";

// Why a transaction was refused that compared these guards and read their keys, as one line.
std::string WhyRefused(const Keyspace& keyspace, const Guards& guards, const Stored& stored,
                       const char* otherwise) {
  const auto broken = std::find_if(guards.begin(), guards.end(),
                                   [&](const Guard& guard) { return !Holds(guard, stored); });
  if (broken != guards.end()) {
    return broken->key == keyspace.ConfigKey() ? "the group's config was changed" : otherwise;
  }
  const bool by_range = std::any_of(guards.begin(), guards.end(), [](const Guard& guard) {
    return guard.kind == Guard::Kind::kModsUpTo;
  });
  return by_range ? "a member was written since the members were read" : otherwise;
}

Fact KnownFrom(Revision revision, Fact fact) {
  if (auto* shard = std::get_if<ShardRecordFact>(&fact)) shard->record.revision = revision;
  if (auto* balancer = std::get_if<BalancerFact>(&fact)) balancer->record.revision = revision;
  return fact;
}

// The effect's key as the commit left it: what a read would show.
Decoded Committed(const Keyspace& keyspace, const Effect& effect, Revision revision) {
  if (effect.deletes) return keyspace.DecodeAbsent(effect.key, revision);
  if (effect.fact) return {.fact = KnownFrom(revision, *effect.fact), .stray = false};
  etcdserverpb::KeyValue stored;
  stored.set_key(effect.key);
  stored.set_value(effect.value);
  stored.set_lease(effect.lease.value);
  stored.set_mod_revision(revision.value);
  stored.set_create_revision(effect.create_revision.value);
  return keyspace.Decode(stored);
}

// `next`: the index in `responses` of the item's first answer; it moves behind the last one.
void ReadDone(const Keyspace& keyspace, const GuardedItem& item, const Responses& responses,
              int& next, Revision revision, std::vector<Fact>& facts) {
  for (const Effect& effect : item.effects) {
    ++next;
    Decoded decoded = Committed(keyspace, effect, revision);
    if (effect.read_after && next < responses.size()) {
      const RangeResponse& range = responses[next++].response_range();
      if (range.kvs_size() > 0) decoded = keyspace.Decode(range.kvs(0));
    }
    if (decoded.fact) facts.push_back(std::move(*decoded.fact));
  }
}

PortionAnswer ReadFlat(const Keyspace& keyspace, const Portion& portion,
                       const TxnResponse& answer) {
  PortionAnswer result;
  const Revision revision{answer.header().revision()};
  if (answer.succeeded()) {
    int next = 0;
    result.items.assign(portion.count, Outcome::kDone);
    result.facts.reserve(portion.count);
    for (const GuardedItem& item : portion.items()) {
      ReadDone(keyspace, item, answer.responses(), next, revision, result.facts);
    }
    return result;
  }
  result.why = kOneFalse;
  if (const auto stored = ReadRanges(FlatReadBack(portion), answer.responses())) {
    AppendFacts(keyspace, *stored, revision, result.facts);
    result.shared_refused = !Hold(portion.write->shared, *stored);
    if (result.shared_refused) {
      result.why = WhyRefused(keyspace, portion.write->shared, *stored, kSharedFalse);
    } else if (portion.count == 1) {
      result.why = WhyRefused(keyspace, portion.items().front().guards, *stored, kOneFalse);
    }
  }
  if (portion.count == 1 || result.shared_refused) {
    result.items.assign(portion.count, Outcome::kRefused);
  }
  return result;
}

Outcome ReadNestedItem(const Keyspace& keyspace, const GuardedItem& item,
                       const ResponseOp& response, Revision revision, std::vector<Fact>& facts) {
  if (!response.has_response_txn()) return Outcome::kUnknown;
  const TxnResponse& nested = response.response_txn();
  if (nested.succeeded()) {
    int next = 0;
    ReadDone(keyspace, item, nested.responses(), next, revision, facts);
    return Outcome::kDone;
  }
  if (const auto stored = ReadRanges(ReadBack(item.guards), nested.responses())) {
    AppendFacts(keyspace, *stored, revision, facts);
  }
  return Outcome::kRefused;
}

PortionAnswer ReadNested(const Keyspace& keyspace, const Portion& portion,
                         const TxnResponse& answer) {
  PortionAnswer result;
  const Revision revision{answer.header().revision()};
  result.items.assign(portion.count, Outcome::kUnknown);
  if (!answer.succeeded()) {
    result.shared_refused = true;
    result.items.assign(portion.count, Outcome::kRefused);
    result.why = kSharedFalse;
    if (const auto stored = ReadRanges(ReadBack(portion.write->shared), answer.responses())) {
      AppendFacts(keyspace, *stored, revision, result.facts);
      result.why = WhyRefused(keyspace, portion.write->shared, *stored, kSharedFalse);
    }
    return result;
  }
  if (static_cast<std::size_t>(answer.responses_size()) != portion.count) return result;
  for (std::size_t i = 0; i < portion.count; ++i) {
    result.items[i] = ReadNestedItem(keyspace, portion.items()[i],
                                     answer.responses(static_cast<int>(i)), revision, result.facts);
    if (result.items[i] == Outcome::kRefused) result.why = kOneFalse;
  }
  return result;
}

}  // namespace

void AddCompare(const Guard& guard, TxnRequest& txn) {
  Compare& compare = *txn.add_compare();
  compare.set_key(guard.key);
  compare.set_result(Compare::EQUAL);
  switch (guard.kind) {
    case Guard::Kind::kModIs:
      compare.set_target(Compare::MOD);
      return compare.set_mod_revision(guard.number);
    case Guard::Kind::kCreateIs:
      compare.set_target(Compare::CREATE);
      return compare.set_create_revision(guard.number);
    case Guard::Kind::kLeaseIsNot: compare.set_result(Compare::NOT_EQUAL); [[fallthrough]];
    case Guard::Kind::kLeaseIs:
      compare.set_target(Compare::LEASE);
      return compare.set_lease(guard.number);
    case Guard::Kind::kModsUpTo:
      // Every key of the range must hold; if there is none, etcd compares an absent key's 0.
      compare.set_range_end(PrefixEnd(guard.key));
      compare.set_target(Compare::MOD);
      compare.set_result(Compare::LESS);
      return compare.set_mod_revision(guard.number + 1);
  }
}

std::shared_ptr<const TxnRequest> MakeTxn(const Portion& portion) {
  BATON_CHECK(portion.count > 0);
  struct Built {
    google::protobuf::Arena arena{ArenaOptions()};
    TxnRequest* const txn = google::protobuf::Arena::CreateMessage<TxnRequest>(&arena);
  };
  const auto built = std::make_shared<Built>();
  if (portion.shape == Shape::kFlat) {
    AddFlat(portion, *built->txn);
  } else {
    AddNested(portion, *built->txn);
  }
  return {built, built->txn};
}

std::size_t CountOperations(const TxnRequest& txn) {
  int nested = 0;
  for (const auto* branch : {&txn.success(), &txn.failure()}) {
    for (const auto& operation : *branch) {
      if (!operation.has_request_txn()) continue;
      nested = std::max(nested, static_cast<int>(CountOperations(operation.request_txn())));
    }
  }
  const int outer = std::max({txn.compare_size(), txn.success_size(), txn.failure_size()});
  return static_cast<std::size_t>(outer + nested);
}

Portion Fit(const GuardedWrite& write, Shape shape, std::size_t first, std::size_t end,
            std::size_t limit) {
  BATON_CHECK(first < end && end <= write.items.size());
  Counter counter(write, shape);
  std::size_t count = 0;
  while (first + count < end) {
    counter.Add(write.items[first + count]);
    if (counter.Count() > limit && count > 0) break;
    ++count;
  }
  return Portion{.write = &write, .first = first, .count = count, .shape = shape};
}

PortionAnswer ReadAnswer(const Keyspace& keyspace, const Portion& portion,
                         const TxnResponse& answer) {
  return portion.shape == Shape::kFlat ? ReadFlat(keyspace, portion, answer)
                                       : ReadNested(keyspace, portion, answer);
}

}  // namespace baton::etcd
