// Describes a transaction in words, so that tests compare all of it at once.
#pragma once

#include <sstream>
#include <string>

#include "etcd/etcd.pb.h"
#include "etcd/keyspace.h"

namespace baton::etcd::testing {

class Describer {
 public:
  explicit Describer(const Keyspace& keyspace) : begin_(keyspace.begin()) {}

  /// One line for each compare ("if"), operation ("then", "else"); nested ones are indented.
  std::string operator()(const etcdserverpb::TxnRequest& txn,
                         const std::string& indent = "") const {
    std::string text;
    for (const auto& guard : txn.compare()) text += indent + "if " + Guard(guard) + "\n";
    for (const auto& operation : txn.success()) text += Operation("then", operation, indent);
    for (const auto& operation : txn.failure()) text += Operation("else", operation, indent);
    return text;
  }

 private:
  std::string Name(const std::string& key) const {
    return key.starts_with(begin_) ? key.substr(begin_.size()) : "FOREIGN " + key;
  }

  std::string Guard(const etcdserverpb::Compare& guard) const {
    using etcdserverpb::Compare;
    const bool range = !guard.range_end().empty();
    // Below a revision, only a whole range is compared: all that was written later.
    const std::string sign = guard.result() == Compare::EQUAL           ? " = "
                             : guard.result() == Compare::NOT_EQUAL     ? " != "
                             : range && guard.result() == Compare::LESS ? " < "
                                                                        : " ? ";
    const std::string name =
        Name(guard.key()) + (range ? " to " + Name(guard.range_end()) : std::string());
    switch (guard.target()) {
      case Compare::MOD: return "mod " + name + sign + std::to_string(guard.mod_revision());
      case Compare::CREATE:
        return "create " + name + sign + std::to_string(guard.create_revision());
      case Compare::LEASE: return "lease " + name + sign + std::to_string(guard.lease());
      default: return "UNSTABLE " + name;
    }
  }

  std::string Operation(const std::string& branch, const etcdserverpb::RequestOp& operation,
                        const std::string& indent) const {
    const std::string head = indent + branch + " ";
    if (operation.has_request_txn()) {
      return head + "txn\n" + (*this)(operation.request_txn(), indent + "  ");
    }
    if (operation.has_request_range())
      return head + "get " + Name(operation.request_range().key()) + "\n";
    if (operation.has_request_delete_range()) {
      return head + "delete " + Name(operation.request_delete_range().key()) + "\n";
    }
    const auto& put = operation.request_put();
    const std::string lease = put.lease() == 0 ? "" : " on " + std::to_string(put.lease());
    return head + "put " + Name(put.key()) + lease + "\n";
  }

  const std::string begin_;
};

}  // namespace baton::etcd::testing
