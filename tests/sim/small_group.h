// SmallGroup: a few whole engines on virtual time and a model of etcd, without faults drawn by
// chance and without checkers: a test says what happens.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "sim/process.h"

namespace baton::sim {

/// Keeps why processes halted.
class HaltObserver final : public ProcessObserver {
 public:
  void Ran(Process&) override {}
  void Reported(Process&, const Transition&) override {}
  void Called(Process&, ShardId, core::CallbackKind, Term) override {}
  void Threw(Process&, ShardId, core::CallbackKind, Term) override {}
  void Halted(Process& process, const Error& why) override { halted[&process] = why.message; }
  void Finished(Process&, const core::Finished&) override {}
  void Wrote(Process&, ShardId, Term) override {}
  void Sent(Process&, const pb::TxnRequest&) override {}

  std::map<const Process*, std::string> halted;
};

class SmallGroup : public testing::Test {
 protected:
  static constexpr int kNodes = 3;
  static constexpr std::uint32_t kShards = 30;

  void SetUp() override {
    core::CoreOptions options;
    options.ttl = ttl_;
    options.shards = kShards;
    options.expect_nodes = kNodes;
    options.has_listener = false;
    options.self.address = "node:1";
    options.self.protocol_version = kProtocolVersion;
    for (int n = 0; n < kNodes; ++n) {
      options.self.node = "n" + std::to_string(n);
      clocks_.push_back(std::make_unique<HostClock>(world_, 0, seconds(1000)));
      dice_.push_back(std::make_unique<Dice>(world_, 1, static_cast<std::uint32_t>(n)));
      processes_.push_back(std::make_unique<Process>(ProcessParts{.world = world_,
                                                                  .etcd = etcd_,
                                                                  .clock = *clocks_.back(),
                                                                  .network = network_,
                                                                  .callbacks = callbacks_,
                                                                  .armed = failures_,
                                                                  .directory = nullptr,
                                                                  .observer = observer_,
                                                                  .dice = *dice_.back(),
                                                                  .random = world_.random().Fork()},
                                                     options, n));
    }
    for (const auto& process : processes_) process->Start();
  }
  void TearDown() override {
    for (const auto& process : processes_) process->Kill();
  }

  void RunFor(Duration length) { world_.RunUntil(world_.now() + length); }
  std::size_t Led() const {
    std::size_t led = 0;
    for (const auto& process : processes_) led += process->core().leaderships().held().size();
    return led;
  }
  /// The lines that were logged meanwhile.
  std::vector<std::string> LoggedIn(Duration length) {
    testing::internal::CaptureStderr();
    RunFor(length);
    std::istringstream log(testing::internal::GetCapturedStderr());
    std::vector<std::string> lines;
    for (std::string line; std::getline(log, line);) lines.push_back(line);
    return lines;
  }

  std::chrono::seconds ttl_{10};
  World world_{1, false};
  NetworkFaults network_;
  CallbackFaults callbacks_;
  std::vector<ArmedFailure> failures_;
  HaltObserver observer_;
  EtcdModel etcd_{world_, {}};
  std::vector<std::unique_ptr<HostClock>> clocks_;
  std::vector<std::unique_ptr<Dice>> dice_;
  std::vector<std::unique_ptr<Process>> processes_;
};

}  // namespace baton::sim
