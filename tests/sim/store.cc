#include "sim/store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace baton::sim {
namespace {

const std::string kNoEnd(1, '\0');

template <typename T>
bool Compares(pb::Compare::CompareResult result, const T& stored, const T& given) {
  switch (result) {
    case pb::Compare::EQUAL: return stored == given;
    case pb::Compare::NOT_EQUAL: return stored != given;
    case pb::Compare::GREATER: return stored > given;
    case pb::Compare::LESS: return stored < given;
    default: BATON_CHECK(false);
  }
}

}  // namespace

bool InRange(const std::string& key, const std::string& begin, const std::string& end) {
  if (end.empty()) return key == begin;
  return key >= begin && (end == kNoEnd || key < end);
}

// ---- reading ----

const Store::Version* Store::VersionAt(const Versions& versions, std::int64_t at) const {
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    if (version->value.mod_revision() <= at) return version->deleted ? nullptr : &*version;
  }
  return nullptr;
}

// `at` is the present; revision 0 means it too.
Failure Store::CheckReadable(std::int64_t revision, std::int64_t at) const {
  if (revision > at) {
    return {kCodeOutOfRange, "etcdserver: mvcc: required revision is a future revision"};
  }
  if ((revision > 0 ? revision : at) < compacted_) {
    return {kCodeOutOfRange, "etcdserver: mvcc: required revision has been compacted"};
  }
  return {};
}

Failure Store::Range(const pb::RangeRequest& request, std::int64_t at,
                     pb::RangeResponse& response) const {
  const Failure failure = CheckReadable(request.revision(), at);
  if (!failure.none()) return failure;
  if (request.revision() > 0) at = request.revision();
  std::int64_t count = 0;
  for (auto next = keys_.lower_bound(request.key()); next != keys_.end(); ++next) {
    if (!InRange(next->first, request.key(), request.range_end())) break;
    const Version* version = VersionAt(next->second, at);
    if (version == nullptr) continue;
    ++count;
    if (request.count_only()) continue;
    if (request.limit() > 0 && response.kvs_size() >= request.limit()) continue;
    pb::KeyValue* found = response.add_kvs();
    *found = version->value;
    if (request.keys_only()) found->clear_value();
    if (request.keys_only() && !keys_only_tells_leases_) found->clear_lease();
  }
  response.set_count(count);
  response.set_more(!request.count_only() && response.kvs_size() < count);
  return {};
}

const pb::KeyValue* Store::Get(const std::string& key) const {
  const auto found = keys_.find(key);
  if (found == keys_.end() || found->second.back().deleted) return nullptr;
  return &found->second.back().value;
}

std::vector<const pb::KeyValue*> Store::All() const {
  std::vector<const pb::KeyValue*> all;
  for (const auto& [key, versions] : keys_) {
    if (!versions.back().deleted) all.push_back(&versions.back().value);
  }
  return all;
}

const std::vector<pb::Event>& Store::EventsOf(std::int64_t revision) const {
  BATON_CHECK(revision > 0 && revision <= revision_);
  return history_[static_cast<std::size_t>(revision)];
}

// ---- transactions ----

// A compare of a range must hold for every key in it; if there is none, it is judged as for an
// absent key.
bool Store::Holds(const pb::Compare& compare) const {
  if (compare.range_end().empty()) return HoldsFor(compare, Get(compare.key()));
  bool any = false;
  for (auto next = keys_.lower_bound(compare.key()); next != keys_.end(); ++next) {
    if (!InRange(next->first, compare.key(), compare.range_end())) break;
    const pb::KeyValue* found = Get(next->first);
    if (found == nullptr) continue;
    if (!HoldsFor(compare, found)) return false;
    any = true;
  }
  return any || HoldsFor(compare, nullptr);
}

bool Store::HoldsFor(const pb::Compare& compare, const pb::KeyValue* found) const {
  static const pb::KeyValue kAbsent;
  const pb::KeyValue& stored = found != nullptr ? *found : kAbsent;
  const auto result = compare.result();
  switch (compare.target()) {
    case pb::Compare::VERSION: return Compares(result, stored.version(), compare.version());
    case pb::Compare::CREATE:
      return Compares(result, stored.create_revision(), compare.create_revision());
    case pb::Compare::MOD: return Compares(result, stored.mod_revision(), compare.mod_revision());
    case pb::Compare::LEASE: return Compares(result, stored.lease(), compare.lease());
    // An absent key's value compares with nothing: the comparison fails.
    case pb::Compare::VALUE:
      return found != nullptr && Compares(result, stored.value(), compare.value());
    default: BATON_CHECK(false);
  }
}

// All compares, those of nested transactions too, look at the state before any change.
void Store::Decide(const pb::TxnRequest& request, std::vector<bool>& taken) const {
  const bool holds = std::all_of(request.compare().begin(), request.compare().end(),
                                 [&](const pb::Compare& compare) { return Holds(compare); });
  taken.push_back(holds);
  for (const pb::RequestOp& operation : holds ? request.success() : request.failure()) {
    if (operation.has_request_txn()) Decide(operation.request_txn(), taken);
  }
}

void Store::Carry(const pb::TxnRequest& request, const std::vector<bool>& taken, std::size_t& next,
                  pb::TxnResponse& response) {
  const bool holds = taken[next++];
  response.set_succeeded(holds);
  for (const pb::RequestOp& operation : holds ? request.success() : request.failure()) {
    pb::ResponseOp& answer = *response.add_responses();
    if (operation.has_request_put()) {
      Put(operation.request_put(), *answer.mutable_response_put());
    } else if (operation.has_request_delete_range()) {
      Delete(operation.request_delete_range(), *answer.mutable_response_delete_range());
    } else if (operation.has_request_range()) {
      auto& range = *answer.mutable_response_range();
      const Failure failure = Range(operation.request_range(), WithinRevision(), range);
      BATON_CHECK(failure.none());
      range.mutable_header()->set_revision(WithinRevision());
    } else if (operation.has_request_txn()) {
      answer.mutable_response_txn()->mutable_header();
      Carry(operation.request_txn(), taken, next, *answer.mutable_response_txn());
    }
  }
}

// Applies the rule to each operation of the branches that are taken.
Failure Store::CheckTaken(const pb::TxnRequest& request, const std::vector<bool>& taken,
                          std::size_t& next, OperationRule rule) const {
  for (const pb::RequestOp& operation : taken[next++] ? request.success() : request.failure()) {
    const Failure failure = operation.has_request_txn()
                                ? CheckTaken(operation.request_txn(), taken, next, rule)
                                : (this->*rule)(operation);
    if (!failure.none()) return failure;
  }
  return {};
}

Failure Store::CheckLease(const pb::RequestOp& operation) const {
  const std::int64_t lease = operation.request_put().lease();
  if (lease == 0 || HasLease(lease)) return {};
  return {kCodeNotFound, "etcdserver: requested lease not found"};
}

Failure Store::CheckRevision(const pb::RequestOp& operation) const {
  if (!operation.has_request_range()) return {};
  return CheckReadable(operation.request_range().revision(), revision_);
}

Failure Store::CheckBoth(const pb::RequestOp& operation) const {
  const Failure failure = CheckLease(operation);
  return failure.none() ? CheckRevision(operation) : failure;
}

Failure Store::Txn(const pb::TxnRequest& request, pb::TxnResponse& response) {
  std::vector<bool> taken;
  Decide(request, taken);
  std::vector<OperationRule> rules{&Store::CheckLease, &Store::CheckRevision};
  if (checks_in_order_) rules = {&Store::CheckBoth};
  for (const OperationRule rule : rules) {
    std::size_t first = 0;
    const Failure failure = CheckTaken(request, taken, first, rule);
    if (!failure.none()) return failure;
  }
  std::size_t next = 0;
  Carry(request, taken, next, response);
  Commit();
  return {};
}

// ---- changing ----

void Store::Put(const pb::PutRequest& request, pb::PutResponse& response) {
  const pb::KeyValue* previous = request.prev_kv() ? Get(request.key()) : nullptr;
  if (previous != nullptr) *response.mutable_prev_kv() = *previous;
  Write(request);
  response.mutable_header()->set_revision(WithinRevision());
}

void Store::Write(const pb::PutRequest& request) {
  Versions& versions = keys_[request.key()];
  const bool exists = !versions.empty() && !versions.back().deleted;
  if (exists) Detach(request.key(), versions.back().value.lease());
  Version next;
  next.value.set_key(request.key());
  next.value.set_value(request.value());
  next.value.set_lease(request.lease());
  next.value.set_mod_revision(revision_ + 1);
  next.value.set_create_revision(exists ? versions.back().value.create_revision() : revision_ + 1);
  next.value.set_version(exists ? versions.back().value.version() + 1 : 1);
  if (request.lease() != 0) leases_[request.lease()].insert(request.key());
  pb::Event& event = pending_.emplace_back();
  event.set_type(pb::Event::PUT);
  *event.mutable_kv() = next.value;
  versions.push_back(std::move(next));
}

void Store::Delete(const pb::DeleteRangeRequest& request, pb::DeleteRangeResponse& response) {
  for (auto next = keys_.lower_bound(request.key()); next != keys_.end(); ++next) {
    if (!InRange(next->first, request.key(), request.range_end())) break;
    if (next->second.back().deleted) continue;
    const pb::KeyValue& previous = next->second.back().value;
    if (request.prev_kv()) *response.add_prev_kvs() = previous;
    Detach(next->first, previous.lease());
    Remove(next->first, next->second);
    response.set_deleted(response.deleted() + 1);
  }
  response.mutable_header()->set_revision(WithinRevision());
}

void Store::Remove(const std::string& key, Versions& versions) {
  Version gone{.value = {}, .deleted = true};
  gone.value.set_key(key);
  gone.value.set_mod_revision(revision_ + 1);
  pb::Event& event = pending_.emplace_back();
  event.set_type(pb::Event::DELETE);
  *event.mutable_kv() = gone.value;
  versions.push_back(std::move(gone));
}

void Store::Detach(const std::string& key, std::int64_t lease) {
  const auto found = leases_.find(lease);
  if (lease != 0 && found != leases_.end()) found->second.erase(key);
}

void Store::DropLease(std::int64_t lease) {
  const auto found = leases_.extract(lease);
  if (found.empty()) return;
  for (const std::string& key : found.mapped()) Remove(key, keys_.at(key));
  Commit();
}

void Store::Commit() {
  if (pending_.empty()) return;
  ++revision_;
  history_.push_back(std::exchange(pending_, {}));
}

Failure Store::Compact(std::int64_t revision) {
  if (revision <= compacted_) {
    return {kCodeOutOfRange, "etcdserver: mvcc: required revision has been compacted"};
  }
  if (revision > revision_) {
    return {kCodeOutOfRange, "etcdserver: mvcc: required revision is a future revision"};
  }
  compacted_ = revision;
  return {};
}

void Store::Bump(std::int64_t steps) {
  revision_ += steps;
  history_.resize(static_cast<std::size_t>(revision_) + 1);
  compacted_ = revision_;
}

}  // namespace baton::sim
