// Raw access to etcd for tests: what an operator's etcdctl, a newer version or a fault would do.
//
// It guards nothing, unlike everything in src/. One thread at a time; every call is bounded and
// fails the running test where etcd gives no answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "etcd/etcd.pb.h"
#include "etcd/grpc_transport.h"

namespace baton::e2e {

class EtcdClient {
 public:
  /// Of an etcd of the world (world.h), as an operator.
  explicit EtcdClient(const std::vector<std::string>& endpoints);

  /// Unset: no such key. `revision` 0: as it is now.
  std::optional<etcdserverpb::KeyValue> Get(const std::string& key, std::int64_t revision = 0);
  /// All keys that begin with `prefix`.
  std::vector<etcdserverpb::KeyValue> List(const std::string& prefix);
  /// The revision of the write. `lease` 0: none.
  std::int64_t Put(const std::string& key, const std::string& value, std::int64_t lease = 0);
  void Delete(const std::string& key);
  void Revoke(std::int64_t lease);
  /// etcd's present revision, of every group.
  std::int64_t Revision();
  /// Gives up all history before `revision`, by etcdctl.
  void Compact(std::int64_t revision);

 private:
  etcdserverpb::RangeResponse Range(const etcdserverpb::RangeRequest& request);
  std::int64_t Commit(const etcdserverpb::TxnRequest& request);

  const std::string endpoint_;  ///< etcdctl's
  std::unique_ptr<etcd::GrpcTransport> transport_;
};

}  // namespace baton::e2e
