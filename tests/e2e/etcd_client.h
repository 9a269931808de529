// Raw access to etcd for tests, which play an operator's etcdctl, a newer version or a fault.
//
// Unlike everything in src/ it writes without guards. One thread at a time. Every call has a bound,
// and ends the running test if etcd doesn't answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etcd/etcd.pb.h"
#include "etcd/grpc/transport.h"

namespace baton::e2e {

class EtcdClient {
 public:
  /// Connects to an etcd of the world (world.h), as an operator.
  explicit EtcdClient(const std::vector<std::string>& endpoints);

  /// Reads a key, at `revision` or at present (0). Unset: there is no such key.
  std::optional<etcdserverpb::KeyValue> Get(const std::string& key, std::int64_t revision = 0);
  /// Reads all keys that begin with `prefix`.
  std::vector<etcdserverpb::KeyValue> List(const std::string& prefix);
  /// Writes a key and returns the write's revision. `lease` 0: none.
  std::int64_t Put(const std::string& key, const std::string& value, std::int64_t lease = 0);
  void Delete(const std::string& key);
  void Revoke(std::int64_t lease);
  /// etcd's present revision.
  std::int64_t Revision();
  /// The size of the database file of one of etcd's members.
  std::int64_t DatabaseBytes();
  /// Compacts all history before `revision`, by etcdctl.
  void Compact(std::int64_t revision);

 private:
  etcdserverpb::RangeResponse Range(const etcdserverpb::RangeRequest& request);
  std::int64_t Commit(const etcdserverpb::TxnRequest& request);

  const std::string endpoint_;  ///< etcdctl's
  std::unique_ptr<etcd::GrpcTransport> transport_;
};

}  // namespace baton::e2e
