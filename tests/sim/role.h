// Role: what a group's nodes may do: read and write the group's keys, and nothing else. Requests
// are checked as servers without CVE-2026-33343 check them: with compares, both branches, and all
// nested transactions. So every request of a simulated node shows what etcd 3.4.23 can't show.
#pragma once

#include <string>

#include "sim/store.h"

namespace baton::sim {

class Role {
 public:
  /// Allows the keys from `begin` up to `end`, without `end`.
  Role(std::string begin, std::string end) : begin_(std::move(begin)), end_(std::move(end)) {}

  /// Whether it allows a range, a delete, a compare or a watch. An empty `range_end` means the one
  /// key.
  bool Allows(const std::string& key, const std::string& range_end) const;
  bool Allows(const pb::TxnRequest& request) const;

 private:
  bool Allows(const pb::RequestOp& operation) const;

  const std::string begin_;
  const std::string end_;
};

/// The role of the simulated nodes.
const Role& NodeRole();

}  // namespace baton::sim
