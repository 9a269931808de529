// SmallGroup: a VirtualGroup of three nodes for tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "sim/virtual_group.h"

namespace baton::sim {

/// Keeps why processes halted.
class HaltObserver final : public QuietObserver {
 public:
  void Halted(Process& process, const Error& why) override { halted[&process] = why.message; }

  std::map<const Process*, std::string> halted;
};

class SmallGroup : public testing::Test {
 protected:
  static constexpr int kNodes = 3;
  static constexpr std::uint32_t kShards = 30;

  void SetUp() override {
    for (int n = 0; n < kNodes; ++n) {
      core::CoreOptions options = VirtualGroup::OptionsFor("n" + std::to_string(n), kShards);
      options.ttl = ttl_;
      options.expect_nodes = kNodes;
      options.has_listener = false;
      group_.Add(std::move(options));
    }
    for (const auto& process : processes_) process->Start();
  }

  void TearDown() override {
    for (const auto& process : processes_) process->Kill();
  }

  void RunFor(Duration length) { group_.RunFor(length); }
  /// The time of the process's own clock.
  TimePoint NowAt(const Process& process) const { return group_.clock(process).Now(); }
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
  HaltObserver observer_;
  VirtualGroup group_{observer_};
  World& world_ = group_.world();
  EtcdModel& etcd_ = group_.etcd();
  const std::vector<std::unique_ptr<Process>>& processes_ = group_.processes();
};

}  // namespace baton::sim
