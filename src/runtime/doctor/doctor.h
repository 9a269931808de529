// Doctor: examines a node, its etcd and its group on request, and gives advice.
//
// Thread-safe, except for the destructor. The first request starts a thread of this object, which
// makes one examination after another. An examination takes about 13 s at most: 1 s for the node
// (kStatusPatience), and 12 s for etcd (kCheckupBound). The destructor waits until all requests are
// answered. If Stop was not called before, each waiting request is examined first.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "baton/options.h"
#include "baton/result.h"
#include "runtime/admin/worker.h"
#include "runtime/control.h"
#include "runtime/doctor/finding.h"
#include "runtime/metrics/status_source.h"

namespace baton::runtime {

struct DoctorOptions {
  std::string group;
  NodeId node;  ///< the node's or relay's name
  EtcdOptions etcd;
  std::chrono::milliseconds ttl_asked{0};  ///< the TTL that the node asks etcd for; a relay: 0
};

class Doctor {
 public:
  /// The most requests that wait, besides the request that is examined now.
  static constexpr std::size_t kMaxWaiting = 4;

  /// REQUIRES: `control` outlives this object.
  Doctor(Control& control, DoctorOptions options);

  /// Returns at once. Calls the handler once, on this object's thread. If kMaxWaiting requests
  /// wait, or the thread can't be started, calls the handler on the caller's thread, before Examine
  /// returns. If the node or etcd does not answer, this is a finding, not an error. kUnavailable:
  /// kMaxWaiting requests wait, Stop was called, or the host lacks threads. REQUIRES: the handler
  /// does not throw, and does not destroy this object.
  void Examine(ExamineRequest request, std::function<void(Result<Diagnosis>)> handler);

  /// Later examinations use these credentials with etcd. An empty field removes the earlier value.
  /// The user's name stays.
  void SetEtcdCredentials(const EtcdCredentials& credentials);

  /// From now on, waiting and later requests fail with kUnavailable, each in its turn. A running
  /// examination continues. Does not wait.
  void Stop() { stopping_ = true; }

 private:
  Result<Diagnosis> Look(const ExamineRequest& request);
  EtcdOptions Etcd();

  bool Post(std::function<void()> task);

  std::mutex mutex_;
  const Control& control_;
  DoctorOptions options_;  ///< mutex_ guards etcd's credentials; the rest never changes
  StatusSource status_;
  std::atomic<bool> stopping_ = false;
  std::optional<Worker> worker_;  ///< started under mutex_; last, so that its thread ends first
};

}  // namespace baton::runtime
