// VirtualGroup: whole engines on virtual time and a model of etcd, without faults drawn by chance
// and without checkers. Its user says what happens.
//
// For one thread.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "sim/process.h"

namespace baton::sim {

/// Prints why a process halted, and takes no notice of the rest.
class QuietObserver : public ProcessObserver {
 public:
  void Ran(Process&) override {}
  void Reported(Process&, const Transition&) override {}
  void Called(Process&, ShardId, core::CallbackKind, Term) override {}
  void Threw(Process&, ShardId, core::CallbackKind, Term) override {}
  void Halted(Process& process, const Error& why) override;
  void Finished(Process&, const core::Finished&) override {}
  void Wrote(Process&, ShardId, Term) override {}
  void Sent(Process&, const pb::TxnRequest&) override {}
};

class VirtualGroup {
 public:
  /// `observer` outlives the group.
  explicit VirtualGroup(ProcessObserver& observer);
  ~VirtualGroup();
  VirtualGroup(const VirtualGroup&) = delete;
  VirtualGroup& operator=(const VirtualGroup&) = delete;

  /// Options of a node of this build: what every process needs.
  static core::CoreOptions OptionsFor(NodeId node, std::uint32_t shards);
  /// Adds a process, which has not started. They are numbered from 0.
  Process& Add(core::CoreOptions options);
  /// Kills the process, and runs until its lease has ended.
  void KillAndAwaitTheEndOfItsLease(Process& process);
  void RunFor(Duration length) { world_.RunUntil(world_.now() + length); }

  World& world() { return world_; }
  EtcdModel& etcd() { return etcd_; }
  const std::vector<std::unique_ptr<Process>>& processes() const { return processes_; }
  const Clock& clock(const Process& process) const {
    return *clocks_.at(static_cast<std::size_t>(process.number()));
  }
  /// How many shards the live processes hold.
  std::size_t Held() const;
  /// Whether the live processes with a weight hold the same number of shards, give or take one.
  bool Even() const;

 private:
  ProcessObserver& observer_;
  World world_;
  NetworkFaults network_;
  CallbackFaults callbacks_;
  std::vector<ArmedFailure> failures_;
  EtcdModel etcd_;
  std::vector<std::unique_ptr<HostClock>> clocks_;
  std::vector<std::unique_ptr<Dice>> dice_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace baton::sim
