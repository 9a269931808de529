// Store: etcd's keys and values as one raft member's state machine holds them, in etcd's own
// messages.
//
// Every commit that changes something is one revision. All versions of every key are kept, so that
// any revision that was not compacted can be read. As etcd's manual says: transactions compare
// against the state before them, nested ones too; ranges inside see what the transaction did
// before; deleting a missing key changes nothing.
//
// Pure: one thread, no time, no faults.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "etcd/etcd.pb.h"

namespace baton::sim {

namespace pb = etcdserverpb;

/// How a call ends that gets no response: gRPC's code and etcd's words.
struct Failure {
  int code = 0;  ///< 0: no failure
  std::string message = {};
  bool none() const { return code == 0; }
};
inline constexpr int kCodeInvalidArgument = 3;
inline constexpr int kCodeDeadlineExceeded = 4;
inline constexpr int kCodeNotFound = 5;
inline constexpr int kCodeResourceExhausted = 8;
inline constexpr int kCodeFailedPrecondition = 9;
inline constexpr int kCodeOutOfRange = 11;
inline constexpr int kCodeUnavailable = 14;
inline constexpr int kCodeUnauthenticated = 16;

class Store {
 public:
  std::int64_t revision() const { return revision_; }
  std::int64_t compacted() const { return compacted_; }

  /// Reads as of `at` (the answering member's own revision, if the request names none). The caller
  /// fills in the header.
  Failure Range(const pb::RangeRequest& request, std::int64_t at,
                pb::RangeResponse& response) const;
  /// Fails, and changes nothing, if a put names a missing lease, or a range names a revision that
  /// can't be read.
  /// REQUIRES: CheckTxn (request_rules.h) accepted the request.
  Failure Txn(const pb::TxnRequest& request, pb::TxnResponse& response);
  Failure Compact(std::int64_t revision);
  /// Raises the revision by `steps` and compacts all, as `etcdutl snapshot restore --bump-revision
  /// --mark-compacted` does: keys keep their mod revisions.
  void Bump(std::int64_t steps);

  /// Whether a range of keys alone tells their leases (etcd 3.7 does not).
  void TellLeasesOfKeysOnly(bool tell) { keys_only_tells_leases_ = tell; }
  /// Whether a transaction's operations are checked one after another, or (before etcd 3.6) all
  /// puts before all ranges. Of two failures, the first one is the answer.
  void CheckInOrder(bool in_order) { checks_in_order_ = in_order; }

  // Leases, as far as keys hang on them.
  void AddLease(std::int64_t lease) { leases_[lease]; }
  bool HasLease(std::int64_t lease) const { return leases_.contains(lease); }
  /// The keys on it. REQUIRES: HasLease.
  const std::set<std::string>& KeysOf(std::int64_t lease) const { return leases_.at(lease); }
  /// Deletes its keys in one revision.
  void DropLease(std::int64_t lease);

  /// The changes of one revision in (0, revision()].
  const std::vector<pb::Event>& EventsOf(std::int64_t revision) const;
  /// The key as it is now; null if it is absent.
  const pb::KeyValue* Get(const std::string& key) const;
  /// All keys that exist now, in order.
  std::vector<const pb::KeyValue*> All() const;

 private:
  struct Version {
    pb::KeyValue value;
    bool deleted = false;
  };
  using Versions = std::vector<Version>;

  const Version* VersionAt(const Versions& versions, std::int64_t at) const;
  bool Holds(const pb::Compare& compare) const;
  bool HoldsFor(const pb::Compare& compare, const pb::KeyValue* found) const;
  void Decide(const pb::TxnRequest& request, std::vector<bool>& taken) const;
  using OperationRule = Failure (Store::*)(const pb::RequestOp&) const;
  Failure CheckTaken(const pb::TxnRequest& request, const std::vector<bool>& taken,
                     std::size_t& next, OperationRule rule) const;
  Failure CheckLease(const pb::RequestOp& operation) const;
  Failure CheckRevision(const pb::RequestOp& operation) const;
  Failure CheckBoth(const pb::RequestOp& operation) const;
  Failure CheckReadable(std::int64_t revision, std::int64_t at) const;
  std::int64_t WithinRevision() const { return revision_ + (pending_.empty() ? 0 : 1); }
  void Carry(const pb::TxnRequest& request, const std::vector<bool>& taken, std::size_t& next,
             pb::TxnResponse& response);
  void Put(const pb::PutRequest& request, pb::PutResponse& response);
  void Write(const pb::PutRequest& request);
  void Delete(const pb::DeleteRangeRequest& request, pb::DeleteRangeResponse& response);
  void Remove(const std::string& key, Versions& versions);
  void Detach(const std::string& key, std::int64_t lease);
  void Commit();

  bool keys_only_tells_leases_ = true;
  bool checks_in_order_ = false;
  std::int64_t revision_ = 1;
  std::int64_t compacted_ = 0;
  std::map<std::string, Versions> keys_;
  std::map<std::int64_t, std::set<std::string>> leases_;
  std::vector<std::vector<pb::Event>> history_{{}, {}};  // by revision
  std::vector<pb::Event> pending_;                       // of the commit under way
};

/// Whether `key` lies in etcd's range [begin, end): an empty `end` means the one key, a zero byte
/// means all keys from `begin`.
bool InRange(const std::string& key, const std::string& begin, const std::string& end);

}  // namespace baton::sim
