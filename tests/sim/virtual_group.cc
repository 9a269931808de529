#include "sim/virtual_group.h"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

namespace baton::sim {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr Duration kClockBegins = seconds(1000);

}  // namespace

void QuietObserver::Halted(Process& process, const Error& why) {
  std::printf("%s halted: %s\n", process.node().c_str(), why.message.c_str());
}

VirtualGroup::VirtualGroup(ProcessObserver& observer)
    : observer_(observer), world_(kSeed, false), etcd_(world_, {}) {}

VirtualGroup::~VirtualGroup() {
  for (const auto& process : processes_) process->Kill();
}

core::CoreOptions VirtualGroup::OptionsFor(NodeId node, std::uint32_t shards) {
  core::CoreOptions options;
  options.shards = shards;
  options.self.node = std::move(node);
  options.self.address = "node:1";
  options.self.protocol_version = kProtocolVersion;
  return options;
}

Process& VirtualGroup::Add(core::CoreOptions options) {
  const auto number = static_cast<int>(processes_.size());
  clocks_.push_back(std::make_unique<HostClock>(world_, 0, kClockBegins));
  dice_.push_back(std::make_unique<Dice>(world_, kSeed, static_cast<std::uint32_t>(number)));
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
                                                 std::move(options), number));
  return *processes_.back();
}

void VirtualGroup::KillAndAwaitTheEndOfItsLease(Process& process) {
  const std::int64_t lease = process.session().value;
  process.Kill();
  while (etcd_.LeaseLives(lease)) RunFor(milliseconds(1));
}

std::size_t VirtualGroup::Held() const {
  std::size_t held = 0;
  for (const auto& process : processes_) {
    if (process->alive()) held += process->core().leaderships().held().size();
  }
  return held;
}

bool VirtualGroup::Even() const {
  std::size_t least = std::numeric_limits<std::size_t>::max();
  std::size_t greatest = 0;
  for (const auto& process : processes_) {
    if (!process->alive() || process->core().options().self.weight == 0) continue;
    const std::size_t held = process->core().leaderships().held().size();
    least = std::min(least, held);
    greatest = std::max(greatest, held);
  }
  return greatest <= least || greatest - least == 1;
}

}  // namespace baton::sim
