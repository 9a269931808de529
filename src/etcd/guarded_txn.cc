// A guarded write's portions as transactions, and what their answers say.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/check.h"
#include "etcd/guarded_write.h"

namespace baton::etcd {
namespace {

using etcdserverpb::Compare;
using etcdserverpb::RangeResponse;
using etcdserverpb::ResponseOp;
using etcdserverpb::TxnRequest;
using etcdserverpb::TxnResponse;
using Responses = google::protobuf::RepeatedPtrField<ResponseOp>;

void AddRange(const std::string& key,
              google::protobuf::RepeatedPtrField<etcdserverpb::RequestOp>& to) {
  to.Add()->mutable_request_range()->set_key(key);
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

// The keys that a refused flat transaction reads: with one item all that the guards compare (its
// fate is definite then), with several only the shared guards' (the nested ones read the rest).
std::vector<std::string> FlatReadBack(const Portion& portion) {
  std::vector<std::string> keys = portion.write->shared_read_back;
  if (portion.count > 1) return keys;
  for (const std::string& key : portion.items().front().read_back) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  }
  return keys;
}

TxnRequest MakeFlat(const Portion& portion) {
  TxnRequest txn;
  std::set<std::string> stated;  // equal guards of several items (a dead session's) once
  const auto add = [&](const Compare& guard) {
    if (stated.insert(guard.SerializeAsString()).second) *txn.add_compare() = guard;
  };
  for (const Compare& guard : portion.write->shared) add(guard);
  for (const GuardedItem& item : portion.items()) {
    for (const Compare& guard : item.guards) add(guard);
    AddEffects(item, txn);
  }
  for (const std::string& key : FlatReadBack(portion)) AddRange(key, *txn.mutable_failure());
  return txn;
}

TxnRequest MakeNested(const Portion& portion) {
  TxnRequest txn;
  for (const Compare& guard : portion.write->shared) *txn.add_compare() = guard;
  for (const GuardedItem& item : portion.items()) {
    TxnRequest& nested = *txn.add_success()->mutable_request_txn();
    for (const Compare& guard : item.guards) *nested.add_compare() = guard;
    AddEffects(item, nested);
    for (const std::string& key : item.read_back) AddRange(key, *nested.mutable_failure());
  }
  for (const std::string& key : portion.write->shared_read_back) {
    AddRange(key, *txn.mutable_failure());
  }
  return txn;
}

// Counts operations without building the transaction, while items are added one by one.
class Counter {
 public:
  Counter(const GuardedWrite& write, Shape shape) : write_(write), shape_(shape) {
    for (const Compare& guard : write.shared) stated_.insert(guard.SerializeAsString());
  }

  void Add(const GuardedItem& item) {
    ++items_;
    const std::size_t own = Successes(item);
    widest_ = std::max({widest_, item.guards.size(), own, item.read_back.size()});
    successes_ += own;
    if (shape_ == Shape::kNested) return;
    for (const Compare& guard : item.guards) stated_.insert(guard.SerializeAsString());
    if (items_ == 1) single_read_back_ = item.read_back.size();
  }

  std::size_t Count() const {
    if (shape_ == Shape::kNested) {
      return std::max({write_.shared.size(), items_, write_.shared_read_back.size()}) + widest_;
    }
    const std::size_t failures =
        write_.shared_read_back.size() + (items_ == 1 ? single_read_back_ : 0);
    return std::max({stated_.size(), successes_, failures});
  }

 private:
  static std::size_t Successes(const GuardedItem& item) {
    std::size_t count = item.effects.size();
    for (const Effect& effect : item.effects) count += effect.read_after ? 1 : 0;
    return count;
  }

  const GuardedWrite& write_;
  Shape shape_;
  std::set<std::string> stated_;
  std::size_t items_ = 0;
  std::size_t successes_ = 0;
  std::size_t widest_ = 0;
  std::size_t single_read_back_ = 0;
};

// The keys as ranges of single keys read them.
using Stored = std::map<std::string, std::optional<etcdserverpb::KeyValue>>;

// Answers to ranges of `keys`, in that order; nullopt where the answer is shaped otherwise.
std::optional<Stored> ReadRanges(const std::vector<std::string>& keys, const Responses& responses) {
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

// Whether a shared guard (all are EQUAL) holds for what was read back; an absent key compares as 0.
bool Holds(const Compare& guard, const Stored& stored) {
  const auto found = stored.find(guard.key());
  if (found == stored.end()) return true;
  const etcdserverpb::KeyValue value = found->second.value_or(etcdserverpb::KeyValue{});
  switch (guard.target()) {
    case Compare::LEASE: return value.lease() == guard.lease();
    case Compare::CREATE: return value.create_revision() == guard.create_revision();
    case Compare::MOD: return value.mod_revision() == guard.mod_revision();
    default: return true;
  }
}

bool SharedHold(const GuardedWrite& write, const Stored& stored) {
  return std::all_of(write.shared.begin(), write.shared.end(),
                     [&](const Compare& guard) { return Holds(guard, stored); });
}

// The effect's key as the commit left it: what a read would say.
Decoded Committed(const Keyspace& keyspace, const Effect& effect, Revision revision) {
  if (effect.deletes) return keyspace.DecodeAbsent(effect.key, revision);
  etcdserverpb::KeyValue stored;
  stored.set_key(effect.key);
  stored.set_value(effect.value);
  stored.set_lease(effect.lease.value);
  stored.set_mod_revision(revision.value);
  stored.set_create_revision(effect.create_revision.value);
  return keyspace.Decode(stored);
}

// `next`: the index in `responses` of the item's first answer; moved behind its last.
ItemAnswer ReadDone(const Keyspace& keyspace, const GuardedItem& item, const Responses& responses,
                    Revision revision, int& next) {
  ItemAnswer answer{.outcome = Outcome::kDone, .facts = {}};
  for (const Effect& effect : item.effects) {
    ++next;
    Decoded decoded = Committed(keyspace, effect, revision);
    if (effect.read_after && next < responses.size()) {
      const RangeResponse& range = responses[next++].response_range();
      if (range.kvs_size() > 0) decoded = keyspace.Decode(range.kvs(0));
    }
    if (decoded.fact) answer.facts.push_back(std::move(*decoded.fact));
  }
  return answer;
}

PortionAnswer ReadFlat(const Keyspace& keyspace, const Portion& portion,
                       const TxnResponse& answer) {
  PortionAnswer result;
  const Revision revision{answer.header().revision()};
  if (answer.succeeded()) {
    int next = 0;
    for (const GuardedItem& item : portion.items()) {
      result.items.push_back(ReadDone(keyspace, item, answer.responses(), revision, next));
    }
    return result;
  }
  const auto stored = ReadRanges(FlatReadBack(portion), answer.responses());
  if (stored) {
    AppendFacts(keyspace, *stored, revision, result.facts);
    result.shared_refused = !SharedHold(*portion.write, *stored);
  }
  if (portion.count == 1 || result.shared_refused) {
    result.items.assign(portion.count, {.outcome = Outcome::kRefused, .facts = {}});
  }
  return result;
}

ItemAnswer ReadNestedItem(const Keyspace& keyspace, const GuardedItem& item,
                          const ResponseOp& response, Revision revision) {
  if (!response.has_response_txn()) return {};
  const TxnResponse& nested = response.response_txn();
  if (nested.succeeded()) {
    int next = 0;
    return ReadDone(keyspace, item, nested.responses(), revision, next);
  }
  ItemAnswer answer{.outcome = Outcome::kRefused, .facts = {}};
  if (const auto stored = ReadRanges(item.read_back, nested.responses())) {
    AppendFacts(keyspace, *stored, revision, answer.facts);
  }
  return answer;
}

PortionAnswer ReadNested(const Keyspace& keyspace, const Portion& portion,
                         const TxnResponse& answer) {
  PortionAnswer result;
  const Revision revision{answer.header().revision()};
  result.items.resize(portion.count);
  if (!answer.succeeded()) {
    result.shared_refused = true;
    for (ItemAnswer& item : result.items) item.outcome = Outcome::kRefused;
    const auto stored = ReadRanges(portion.write->shared_read_back, answer.responses());
    if (stored) AppendFacts(keyspace, *stored, revision, result.facts);
    return result;
  }
  if (static_cast<std::size_t>(answer.responses_size()) != portion.count) return result;
  for (std::size_t i = 0; i < portion.count; ++i) {
    result.items[i] = ReadNestedItem(keyspace, portion.items()[i],
                                     answer.responses(static_cast<int>(i)), revision);
  }
  return result;
}

}  // namespace

TxnRequest MakeTxn(const Portion& portion) {
  BATON_CHECK(portion.count > 0);
  return portion.shape == Shape::kFlat ? MakeFlat(portion) : MakeNested(portion);
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
