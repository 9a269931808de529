// Doctor: looks a node, its etcd and its group over when it is asked, and says what to do.
//
// Thread-safe. It works on a thread of its own, which waits for the node and for etcd; at most
// kMaxWaiting questions wait for it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
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
  EtcdOptions etcd;
  std::chrono::milliseconds ttl_asked{0};
  std::size_t max_shard_series = 0;
};

class Doctor {
 public:
  static constexpr std::size_t kMaxWaiting = 4;

  /// `control` must outlive this object.
  Doctor(Control& control, DoctorOptions options);

  /// The handler is called once, on this object's thread or the caller's. kUnavailable: too many
  /// questions wait.
  void Examine(std::function<void(Result<Diagnosis>)> handler);

  /// Later examinations ask etcd with these, and so show whether it takes them.
  void SetEtcdCredentials(const EtcdCredentials& credentials);

  /// What waits, and whoever asks from now on, is answered kUnavailable. One under way goes on.
  void Stop() { stopping_ = true; }

 private:
  Result<Diagnosis> Look();
  EtcdOptions Etcd();

  std::mutex mutex_;
  DoctorOptions options_;  ///< etcd's credentials: mutex_; nothing else changes
  StatusSource status_;
  std::atomic<bool> stopping_ = false;
  Worker worker_;  ///< last: it ends first
};

}  // namespace baton::runtime
