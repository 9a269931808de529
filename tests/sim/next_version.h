// A next version's nodes among today's: they write a field that this version doesn't know into
// members, records and moves. A node that rewrites such a value must keep the field.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "sim/checkers.h"

namespace baton::sim {

/// A field with number 999, as it is stored.
std::string NextVersionsField();
/// The transaction as a node of the next version writes it.
std::shared_ptr<const pb::TxnRequest> AsNextVersion(const pb::TxnRequest& request);

/// Looks at each commit for fields that were lost, and passes it on.
class FieldsKept final : public HistoryObserver {
 public:
  FieldsKept(EtcdModel& etcd, Checkers& checkers) : etcd_(etcd), checkers_(checkers) {}
  void Committed(std::int64_t revision, int origin) override;
  void LeaseEnded(std::int64_t lease, LeaseEnd how, int origin) override {
    checkers_.LeaseEnded(lease, how, origin);
  }
  /// How many values had the field when they were written again.
  std::uint64_t rewritten() const { return rewritten_; }

 private:
  void Look(const pb::Event& event, int origin);

  EtcdModel& etcd_;
  Checkers& checkers_;
  std::map<std::string, std::int64_t> lease_of_;  ///< of keys whose value has the field
  std::uint64_t rewritten_ = 0;
};

}  // namespace baton::sim
