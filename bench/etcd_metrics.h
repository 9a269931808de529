// etcd's own counters, read from its /metrics.
#pragma once

#include <string>

namespace baton::bench {

class EtcdMetrics {
 public:
  /// Reads them now. Throws std::runtime_error if etcd does not answer.
  explicit EtcdMetrics(const std::string& endpoint);

  /// The sum of all series of that name whose labels hold `label` (`grpc_method="Txn"`; empty:
  /// all).
  double Sum(const std::string& name, const std::string& label = "") const;

 private:
  std::string text_;
};

}  // namespace baton::bench
