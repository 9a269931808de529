// NodeOptions: everything that can be set on a node, with units, defaults and what they relate to.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "baton/types.h"

namespace baton {

/// What shows etcd who the node is, and shows the node that it is etcd: what changes while a node
/// runs (see Node::SetEtcdCredentials). Contents, not paths; as the fields of EtcdOptions.
struct EtcdCredentials {
  std::string password = {};
  std::string ca_pem = {};
  std::string cert_pem = {};
  std::string key_pem = {};

  friend bool operator==(const EtcdCredentials&, const EtcdCredentials&) = default;
};

/// How to reach etcd. Direct endpoints only: etcd's gRPC proxy answers keepalives by itself.
struct EtcdOptions {
  std::vector<std::string> endpoints = {"127.0.0.1:2379"};  ///< host:port
  std::string user;                                         ///< empty: no password authentication
  std::string password;
  std::string ca_pem;  ///< contents, not a path; any of the three set: TLS
  std::string cert_pem;
  std::string key_pem;
  std::string prefix = "/baton/v1";  ///< all groups live below it
};

struct NodeOptions {
  /// REQUIRED: 1 to 128 letters, digits, '-', '_' and '.'; neither "." nor "..", as all names.
  std::string group;
  std::uint32_t shards = 0;  ///< REQUIRED: fixed when the group is created; 1 to 1,000,000
  HashFunction hash = HashFunction::kMurmur2;  ///< fixed when the group is created
  NodeId node;                                 ///< REQUIRED: stable id, unique in the group
  EtcdOptions etcd;

  /// Folder (local file system) of the node's lock, the proof of death at a restart. Empty: no
  /// proof; a restarted node then waits for its old lease to run out.
  std::string state_dir;

  // Addresses: at most 512 visible ASCII characters.
  std::string address;          ///< gRPC address told to others; may be empty
  std::string http_address;     ///< may be empty
  std::string service_address;  ///< what routes carry; empty: `address`
  std::string zone;             ///< failure domain, shown; empty, or a name like the node's
  std::uint32_t weight = 1;     ///< capacity share; 0 takes no shard

  /// Asked of etcd, whole seconds; what etcd grants counts (at least 2 s by default). Failover
  /// takes up to this + 0.5 s + delivery; renewals go out every third of it.
  std::chrono::seconds ttl{10};

  /// Cold start (no leadership in force): claims begin once this many members are there, or once
  /// the membership has not changed for `settle`. 1: no number is expected, `settle` alone decides.
  std::uint32_t expect_nodes = 1;
  std::chrono::milliseconds settle{2000};

  /// Balance: an imbalance must have lasted this long before shards move.
  std::chrono::milliseconds rebalance_delay{5000};
  std::uint32_t max_moves = 64;               ///< moves in flight, whole group
  std::chrono::milliseconds cooldown{30000};  ///< a moved shard is left alone this long

  std::chrono::milliseconds prepare_timeout{30000};   ///< target's Prepare
  std::chrono::milliseconds release_timeout{30000};   ///< leader's Releasing
  std::chrono::milliseconds callback_timeout{30000};  ///< Acquired and the others
  std::chrono::milliseconds drain_timeout{30000};     ///< Node::Drain, whole

  /// Transitions of the whole group that are kept for operators (AdminService), 1 to 1,000,000, at
  /// about 300 bytes each. A restart begins anew.
  std::uint32_t history = 10'000;

  std::size_t callback_threads = 4;  ///< size of the pool that runs listener callbacks, 1 to 256
};

}  // namespace baton
