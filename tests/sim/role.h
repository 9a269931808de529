// The role that a group's nodes have: to read and write the group's keys, and nothing else.
// Requests are checked as servers do that don't have CVE-2026-33343: with compares, both branches,
// and all of nested transactions. What etcd 3.4.23 can't show is so shown of every request of a
// simulated node.
#pragma once

#include <string>

#include "sim/store.h"

namespace baton::sim {

class Role {
 public:
  /// Of the keys from `begin` up to, and without, `end`.
  Role(std::string begin, std::string end) : begin_(std::move(begin)), end_(std::move(end)) {}

  /// Of a range, a delete, a compare or a watch: `range_end` empty is the one key.
  bool Allows(const std::string& key, const std::string& range_end) const;
  bool Allows(const pb::TxnRequest& request) const;

 private:
  bool Allows(const pb::RequestOp& operation) const;

  const std::string begin_;
  const std::string end_;
};

/// Of the nodes that are simulated.
const Role& NodeRole();

}  // namespace baton::sim
