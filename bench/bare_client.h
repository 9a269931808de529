// BareClient: a client of etcd made of generated stubs and nothing else. Baton is compared with it,
// and the bench uses it to prepare and to read etcd.
//
// One thread at a time. Failed calls throw std::runtime_error.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/writes.h"
#include "etcd/election.pb.h"
#include "etcd/etcd.pb.h"
#include "etcd/keyspace.h"

namespace baton::bench {

class BareClient {
 public:
  explicit BareClient(const std::string& endpoint);
  ~BareClient();
  BareClient(const BareClient&) = delete;
  BareClient& operator=(const BareClient&) = delete;

  /// A lease that nobody renews: long enough for any one measurement.
  SessionId Grant();
  /// Puts a member key of that node on a lease of its own. With weight 0 it takes no shard.
  SessionGuard PutMember(const etcd::Keyspace& keyspace, const NodeId& node, std::uint32_t weight);
  etcdserverpb::StatusResponse Status();
  /// The store's revision, read linearizably.
  Revision Now();

  /// Puts all, `in_flight` at a time on one connection, and returns how long that took. Throws if
  /// one fails or its compares don't hold.
  Duration Run(const std::vector<etcdserverpb::TxnRequest>& requests, std::size_t in_flight);
  Duration Run(const std::vector<v3electionpb::CampaignRequest>& requests, std::size_t in_flight);

 private:
  struct Stubs;
  std::unique_ptr<Stubs> stubs_;
};

}  // namespace baton::bench
