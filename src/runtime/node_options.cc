#include "runtime/node_options.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <random>
#include <string_view>

#include <fmt/format.h>

#include "base/endpoint.h"
#include "base/escape.h"
#include "base/facts.h"
#include "base/limits.h"
#include "base/placement.h"
#include "base/text_rules.h"
#include "baton/version.h"
#include "etcd/keyspace.h"
#include "runtime/dispatcher.h"
#include "runtime/state_lock.h"

namespace baton::runtime {
namespace {

Status Bad(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

Status NoName(const std::string& what, const std::string& text) {
  return Bad(fmt::format("{} '{}' is not a valid name; give {}", what, OneLine(text, kLongestName),
                         kNameRule));
}

// Checks what the member's record will say: text that any version and any tool can read, and
// addresses that callers use.
Status CheckRecorded(const NodeOptions& options) {
  struct Address {
    const char* name;
    const std::string& text;
    Status (*rule)(std::string_view text, int example_port);
  };
  const Address addresses[] = {{"address", options.address, CheckOwnAddress},
                               {"http_address", options.http_address, CheckOwnEndpoint},
                               {"service_address", options.service_address, CheckOwnAddress}};
  for (const auto& [name, text, rule] : addresses) {
    const Status checked = text.empty() ? Ok() : rule(text, kNodePort);
    if (!checked) return Bad(fmt::format("{}: {}", name, checked.error().message));
  }
  if (!options.zone.empty() && !IsName(options.zone)) return NoName("zone", options.zone);
  const Status labels = CheckLabels(options.labels);
  return labels ? labels : Status(Bad("labels: " + labels.error().message));
}

Status CheckTimes(const NodeOptions& options) {
  struct Time {
    const char* name;
    std::chrono::milliseconds value;
    int least;
  };
  const Time times[] = {{"settle", options.settle, 0},
                        {"rebalance_delay", options.rebalance_delay, 0},
                        {"cooldown", options.cooldown, 0},
                        {"prepare_timeout", options.prepare_timeout, 1},
                        {"release_timeout", options.release_timeout, 1},
                        {"callback_timeout", options.callback_timeout, 1},
                        {"drain_timeout", options.drain_timeout, 1}};
  const Time or_none[] = {
      {"hang_timeout", options.hang_timeout, static_cast<int>(kShortestHangTimeout.count())},
      {"watchdog", options.watchdog, static_cast<int>(kShortestWatchdog.count())}};
  for (const auto& [name, value, least] : or_none) {
    if (value.count() == 0) continue;
    if (value.count() >= least && value <= kLongestDurationOption) continue;
    return Bad(fmt::format("{} is {} ms; give 0 (none), or {} ms to {} ms (366 days)", name,
                           value.count(), least, kLongestDurationOption.count()));
  }
  for (const auto& [name, value, least] : times) {
    if (value.count() >= least && value <= kLongestDurationOption) continue;
    return Bad(fmt::format("{} is {} ms; give {} ms to {} ms (366 days)", name, value.count(),
                           least, kLongestDurationOption.count()));
  }
  return Ok();
}

Status CheckNumbers(const NodeOptions& options) {
  struct Number {
    const char* name;
    std::size_t value;
    std::size_t least;
    std::size_t most;
  };
  const Number numbers[] = {
      {"shards", options.shards, 1, kMaxShards},
      {"weight", options.weight, 0, kMaxWeight},
      {"expect_nodes", options.expect_nodes, 1, kMaxColdStartNodes},
      {"max_moves", options.max_moves, 1, kMaxMoves},
      {"history", options.history, 1, kMaxHistory},
      {"callback_threads", options.callback_threads, 1, ThreadPoolDispatcher::kMaxThreads}};
  for (const auto& [name, value, least, most] : numbers) {
    if (value >= least && value <= most) continue;
    return Bad(fmt::format("{} is {}; give {} to {}", name, value, least, most));
  }
  return Ok();
}

Status CheckEnums(const NodeOptions& options) {
  if (options.hash > HashFunction::kModulo) {
    return Bad(fmt::format("hash is {}; give one of HashFunction's values",
                           static_cast<int>(options.hash)));
  }
  if (options.guard > GuardMode::kShared) {
    return Bad(fmt::format("guard is {}; give one of GuardMode's values",
                           static_cast<int>(options.guard)));
  }
  if (options.guard != GuardMode::kOff && options.state_dir.empty()) {
    return Bad("a guard waits for the lock in the state directory; give state_dir");
  }
  if (options.hang_timeout.count() != 0 && options.guard != GuardMode::kOwn) {
    return Bad("hang_timeout is for the node's own guard; give guard = GuardMode::kOwn");
  }
  if (options.hang_timeout.count() != 0 && options.guard_program.empty()) {
    return Bad("hang_timeout needs a guard, and guard_program is empty; give its path");
  }
  if (options.log_level > LogLevel::kError) {
    return Bad(fmt::format("log_level is {}; give one of LogLevel's values",
                           static_cast<int>(options.log_level)));
  }
  return Ok();
}

// Quotes the text, if necessary, so that a shell takes it as one word.
std::string ShellWord(const std::string& text) {
  const bool plain = std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("/.,:_-[]").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string RecoverCommand(const NodeOptions& options, const std::string& state_dir) {
  std::string endpoints;
  for (const std::string& endpoint : options.etcd.endpoints) {
    endpoints += (endpoints.empty() ? "" : ",") + endpoint;
  }
  std::string command =
      fmt::format("batonctl recover --group {} --etcd {}", options.group, ShellWord(endpoints));
  if (options.etcd.prefix != EtcdOptions{}.prefix) {
    command += " --etcd-prefix " + ShellWord(options.etcd.prefix);
  }
  return command +
         (state_dir.empty() ? " --above REVISION" : " --state-dir " + ShellWord(state_dir));
}

// After a restored backup, terms must not repeat. In a wiped etcd for tests they may.
std::string WentBackAdvice(const NodeOptions& options) {
  std::error_code failed;
  const std::filesystem::path absolute = std::filesystem::absolute(options.state_dir, failed);
  const std::string state_dir =
      options.state_dir.empty() || failed ? options.state_dir : absolute.string();
  const bool credentials =
      !options.etcd.user.empty() || !options.etcd.ca_pem.empty() || !options.etcd.cert_pem.empty();
  return fmt::format(
      "; if etcd was restored from a backup, stop all nodes and run `{}`{}{}; if etcd was wiped, "
      "and neither its data nor the terms that your storage keeps are needed any more, {}",
      RecoverCommand(options, state_dir),
      credentials ? " with the nodes' etcd credentials and" : " with",
      state_dir.empty() ? " the highest revision that any node names"
                        : " the --state-dir of each other node added",
      state_dir.empty()
          ? "start this node again"
          : "stop this node, delete " + ShellWord(StateFileIn(state_dir)) + " and start it again");
}

void SayHowTheyAreTaken(NodeLog& log, const std::string& what, const etcd::CallStatus& status) {
  if (status.ok()) return log.Info("etcd accepts the new " + what);
  log.Warn("etcd does not accept the new " + what + " yet; the earlier ones stay in use",
           {{"error", status.message}});
}

}  // namespace

Status Check(const NodeOptions& options) {
  if (!IsName(options.group)) return NoName("group", options.group);
  if (!IsName(options.node)) return NoName("node", options.node);
  if (options.ttl < std::chrono::seconds{1} || options.ttl > kLongestTtlOption) {
    return Bad(fmt::format("ttl is {} s; give 1 s to {} s", options.ttl.count(),
                           kLongestTtlOption.count()));
  }
  if (Status numbers = CheckNumbers(options); !numbers.ok()) return numbers;
  if (Status enums = CheckEnums(options); !enums.ok()) return enums;
  if (Status recorded = CheckRecorded(options); !recorded.ok()) return recorded;
  if (Status times = CheckTimes(options); !times.ok()) return times;
  return etcd::Keyspace::Validate(options.etcd.prefix, options.group);
}

core::CoreOptions CoreOptionsOf(const NodeOptions& options) {
  core::CoreOptions core;
  core.shards = options.shards;
  core.hash = options.hash;
  core.self.node = options.node;
  core.self.address = options.address;
  core.self.http_address = options.http_address;
  core.self.service_address =
      options.service_address.empty() ? options.address : options.service_address;
  core.self.zone = options.zone;
  core.self.labels = options.labels;
  core.self.weight = options.weight;
  core.self.software_version = kVersion;
  core.self.protocol_version = kProtocolVersion;
  core.ttl = options.ttl;
  core.expect_nodes = options.expect_nodes;
  core.settle = options.settle;
  core.rebalance_delay = options.rebalance_delay;
  core.max_moves = options.max_moves;
  core.cooldown = options.cooldown;
  core.prepare_timeout = options.prepare_timeout;
  core.release_timeout = options.release_timeout;
  core.callback_timeout = options.callback_timeout;
  core.drain_timeout = options.drain_timeout;
  core.went_back_advice = WentBackAdvice(options);
  core.random = RandomNumbers();
  return core;
}

std::function<std::uint64_t()> RandomNumbers() {
  std::random_device device;
  return std::mt19937_64((std::uint64_t{device()} << 32) ^ device());
}

etcd::GrpcTransportOptions TransportOptionsOf(const EtcdOptions& options, NodeLog& log) {
  etcd::GrpcTransportOptions transport;
  transport.endpoints = options.endpoints;
  transport.user = options.user;
  transport.password = options.password;
  transport.ca_pem = options.ca_pem;
  transport.cert_pem = options.cert_pem;
  transport.key_pem = options.key_pem;
  transport.on_credentials = [&log](const std::string& what, const etcd::CallStatus& status) {
    SayHowTheyAreTaken(log, what, status);
  };
  return transport;
}

}  // namespace baton::runtime
