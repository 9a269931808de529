// etcd's own counters, as its /metrics tells them.
#pragma once

#include <string>

namespace baton::bench {

class EtcdMetrics {
 public:
  /// Asks now. Throws std::runtime_error where there is no answer.
  explicit EtcdMetrics(const std::string& endpoint);

  /// The sum of all series of that name whose labels hold `label` (`grpc_method="Txn"`; empty:
  /// all).
  double Sum(const std::string& name, const std::string& label = "") const;

 private:
  std::string text_;
};

}  // namespace baton::bench
