// A node checks and fills in its options before it starts.
#include "runtime/node_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

NodeOptions Options() {
  NodeOptions options;
  options.group = "orders";
  options.node = "n1";
  options.shards = 4;
  options.etcd.endpoints = {"10.0.0.1:2379", "10.0.0.2:2379"};
  options.state_dir = "/var/lib/baton/n1";
  return options;
}

// Plan: the two ways in which etcd goes back in time, each with what to type, word for word.
TEST(WentBackAdvice, NamesTheCommandForABackupAndTheFileForAWipedEtcd) {
  EXPECT_EQ(
      CoreOptionsOf(Options()).went_back_advice,
      "; if etcd was restored from a backup, stop all nodes and run `batonctl recover "
      "--group orders --etcd 10.0.0.1:2379,10.0.0.2:2379 --state-dir /var/lib/baton/n1` "
      "with the --state-dir of each other node added; if etcd was wiped, and neither its data "
      "nor the terms that your storage keeps are needed any more, stop this node, delete "
      "/var/lib/baton/n1/session.lock and start it again");
}

TEST(WentBackAdvice, OfANodeWithoutAStateDirectoryNamesNoFile) {
  NodeOptions options = Options();
  options.state_dir.clear();
  EXPECT_THAT(CoreOptionsOf(options).went_back_advice,
              AllOf(HasSubstr("--above REVISION` with the highest revision that any node names"),
                    HasSubstr("any more, start this node again"), Not(HasSubstr("delete"))));
}

// Plan: a relative folder with a space and a quote, another prefix, a user. The command is fit for
// a shell in any folder.
TEST(WentBackAdvice, IsFitForAShell) {
  NodeOptions options = Options();
  options.state_dir = "my node's";
  options.etcd.prefix = "/elsewhere/v1";
  options.etcd.user = "baton";
  const std::string here = std::filesystem::current_path().string();
  EXPECT_THAT(CoreOptionsOf(options).went_back_advice,
              AllOf(HasSubstr(" --etcd-prefix /elsewhere/v1 --state-dir '" + here +
                              "/my node'\\''s'` with the nodes' etcd credentials and the"),
                    HasSubstr("delete '" + here + "/my node'\\''s/session.lock' and start")));
}

// Plan: a password's user, a CA and a client certificate each call for credentials.
TEST(WentBackAdvice, NamesCredentialsIfTheNodeHasAny) {
  const char* const credentials = "with the nodes' etcd credentials and the --state-dir";
  EXPECT_THAT(CoreOptionsOf(Options()).went_back_advice, Not(HasSubstr(credentials)));
  for (std::string EtcdOptions::*field :
       {&EtcdOptions::user, &EtcdOptions::ca_pem, &EtcdOptions::cert_pem}) {
    NodeOptions options = Options();
    options.etcd.*field = "given";
    EXPECT_THAT(CoreOptionsOf(options).went_back_advice, HasSubstr(credentials));
  }
}

// Plan: the defaults of both structures are the same; and each field that both have, set to another
// value, arrives.
TEST(CoreOptionsOf, CopiesEachFieldThatBothHave) {
  const core::CoreOptions of_defaults = CoreOptionsOf(NodeOptions());
  const core::CoreOptions defaults;
  const auto same = [](auto field, const core::CoreOptions& one, const core::CoreOptions& other) {
    return one.*field == other.*field;
  };
  NodeOptions options = Options();
  options.hash = HashFunction::kModulo;
  options.ttl = std::chrono::seconds(7);
  options.expect_nodes = 6;
  options.max_moves = 5;
  options.settle = options.rebalance_delay = options.cooldown = milliseconds(11);
  options.prepare_timeout = options.release_timeout = milliseconds(12);
  options.callback_timeout = options.drain_timeout = milliseconds(13);
  const core::CoreOptions changed = CoreOptionsOf(options);
  const auto check = [&](const char* name, auto field) {
    EXPECT_TRUE(same(field, of_defaults, defaults)) << name << " has two defaults";
    EXPECT_FALSE(same(field, changed, defaults)) << name << " does not arrive";
  };
  check("hash", &core::CoreOptions::hash);
  check("ttl", &core::CoreOptions::ttl);
  check("expect_nodes", &core::CoreOptions::expect_nodes);
  check("max_moves", &core::CoreOptions::max_moves);
  check("settle", &core::CoreOptions::settle);
  check("rebalance_delay", &core::CoreOptions::rebalance_delay);
  check("cooldown", &core::CoreOptions::cooldown);
  check("prepare_timeout", &core::CoreOptions::prepare_timeout);
  check("release_timeout", &core::CoreOptions::release_timeout);
  check("callback_timeout", &core::CoreOptions::callback_timeout);
  check("drain_timeout", &core::CoreOptions::drain_timeout);
  EXPECT_EQ(changed.shards, options.shards);
  EXPECT_EQ(changed.self.node, options.node);
  EXPECT_EQ(changed.self.protocol_version, kProtocolVersion);
}

// Plan: labels at their bounds arrive; then each rule of them is broken, with the whole message.
TEST(NodeOptionsCheck, LabelsAreThoseOfTheMembersRecord) {
  NodeOptions options = Options();
  EXPECT_EQ(CoreOptionsOf(options).self.labels, Labels{});
  options.zone = "a";
  for (std::size_t i = 0; i < 32; ++i) options.labels["l" + std::to_string(i)] = "v";
  EXPECT_TRUE(Check(options));
  EXPECT_EQ(CoreOptionsOf(options).self.labels, options.labels);
  EXPECT_EQ(CoreOptionsOf(options).self.zone, "a");
  const auto refused = [&](const std::map<std::string, std::string>& labels) {
    options.labels = labels;
    const Status checked = Check(options);
    if (checked) return std::string("accepted");
    EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
    return checked.error().message;
  };
  std::map<std::string, std::string> many = options.labels;
  many["one-more"] = "v";
  EXPECT_EQ(refused(many), "labels: 33 labels; give at most 32");
  EXPECT_EQ(refused({{"zone", "a"}}),
            "labels: label 'zone' is the node's zone already; leave it out");
  EXPECT_EQ(refused({{"node", "n1"}}),
            "labels: label 'node' is the node's id already; leave it out");
  EXPECT_EQ(
      refused({{"Disk", "ssd"}}),
      "labels: 'Disk' is not a valid label name; give 1 to 63 lower-case letters, digits, '-', "
      "'_', '.' and '/', beginning with a letter or digit");
  EXPECT_EQ(refused({{"disk", "a b"}}),
            "labels: the value of label 'disk' is not valid; give 1 to 128 letters, digits, '-', "
            "'_' and '.', and neither \".\" nor \"..\"");
}

/// An option that is a number, with the range that NodeOptions promises.
struct Numeric {
  const char* name;
  std::int64_t least;
  std::int64_t most;
  /// False: the field's type can't hold the value.
  std::function<bool(NodeOptions&, std::int64_t)> set;
};

template <typename Field>
Numeric Row(const char* name, Field NodeOptions::*field, std::int64_t least, std::int64_t most) {
  return {name, least, most, [field](NodeOptions& options, std::int64_t value) {
            if constexpr (std::is_integral_v<Field>) {
              if (!std::in_range<Field>(value)) return false;
            } else if constexpr (std::is_enum_v<Field>) {
              if (!std::in_range<std::underlying_type_t<Field>>(value)) return false;
            }
            options.*field = static_cast<Field>(value);
            return true;
          }};
}

std::vector<Numeric> Numerics() {
  constexpr std::int64_t kDays366 = 31'622'400'000;  // milliseconds
  return {Row("shards", &NodeOptions::shards, 1, 1'000'000),
          Row("hash", &NodeOptions::hash, 0, 2),
          Row("weight", &NodeOptions::weight, 0, 1'000'000),
          Row("ttl", &NodeOptions::ttl, 1, 3600),
          Row("expect_nodes", &NodeOptions::expect_nodes, 1, 10'000),
          Row("settle", &NodeOptions::settle, 0, kDays366),
          Row("rebalance_delay", &NodeOptions::rebalance_delay, 0, kDays366),
          Row("max_moves", &NodeOptions::max_moves, 1, 100'000),
          Row("cooldown", &NodeOptions::cooldown, 0, kDays366),
          Row("prepare_timeout", &NodeOptions::prepare_timeout, 1, kDays366),
          Row("release_timeout", &NodeOptions::release_timeout, 1, kDays366),
          Row("callback_timeout", &NodeOptions::callback_timeout, 1, kDays366),
          Row("drain_timeout", &NodeOptions::drain_timeout, 1, kDays366),
          Row("history", &NodeOptions::history, 1, 1'000'000),
          Row("log_level", &NodeOptions::log_level, 0, 4),
          Row("callback_threads", &NodeOptions::callback_threads, 1, 256)};
}

// Plan: each option that is a number gets both ends of its range, the values beside them, -1, 0,
// and the least and the greatest numbers that there are: sums with these would overflow. Exactly
// the values of the range pass. The others get one line that names the option and the value.
TEST(NodeOptionsCheck, EveryNumberHasItsRange) {
  using Limits = std::numeric_limits<std::int64_t>;
  for (const Numeric& option : Numerics()) {
    for (const std::int64_t value :
         {Limits::min(), Limits::min() + 1, std::int64_t{-1}, std::int64_t{0}, option.least - 1,
          option.least, option.most, option.most + 1, std::int64_t{UINT32_MAX}, Limits::max() - 1,
          Limits::max()}) {
      SCOPED_TRACE(option.name + (" = " + std::to_string(value)));
      NodeOptions options = Options();
      if (!option.set(options, value)) continue;
      const Status checked = Check(options);
      const bool in_range = value >= option.least && value <= option.most;
      EXPECT_EQ(checked.ok(), in_range) << (checked.ok() ? "" : checked.error().message);
      if (checked.ok()) continue;
      EXPECT_EQ(checked.error().code, ErrorCode::kInvalidArgument);
      EXPECT_THAT(checked.error().message,
                  AllOf(testing::StartsWith(option.name + (" is " + std::to_string(value))),
                        HasSubstr("; give "), Not(HasSubstr("\n"))));
    }
  }
}

// Plan: the line of a duration, word for word.
TEST(NodeOptionsCheck, SaysWhichDurationsItTakes) {
  NodeOptions options = Options();
  options.callback_timeout = milliseconds::max();
  EXPECT_EQ(Check(options).error().message,
            "callback_timeout is 9223372036854775807 ms; give 1 ms to 31622400000 ms (366 days)");
  options = Options();
  options.guard = GuardMode::kOwn;
  options.state_dir = "/state";
  for (const milliseconds wrong : {milliseconds::min(), milliseconds(-1), milliseconds(499),
                                   milliseconds(31'622'400'001), milliseconds::max()}) {
    options.hang_timeout = wrong;
    EXPECT_EQ(Check(options).error().message,
              "hang_timeout is " + std::to_string(wrong.count()) +
                  " ms; give 0 (none), or 500 ms to 31622400000 ms (366 days)");
  }
  options.hang_timeout = milliseconds(500);
  EXPECT_TRUE(Check(options).ok());
}

// Plan: a watchdog so short that a busy machine would bite is refused; 0 means none.
TEST(NodeOptionsCheck, AWatchdogIsNotTooShort) {
  NodeOptions options = Options();
  for (const milliseconds right :
       {milliseconds(0), milliseconds(100), milliseconds(31'622'400'000)}) {
    options.watchdog = right;
    EXPECT_TRUE(Check(options).ok()) << right.count();
  }
  for (const milliseconds wrong :
       {milliseconds::min(), milliseconds(-1), milliseconds(1), milliseconds(99),
        milliseconds(31'622'400'001), milliseconds::max()}) {
    options.watchdog = wrong;
    EXPECT_EQ(Check(options).error().message,
              "watchdog is " + std::to_string(wrong.count()) +
                  " ms; give 0 (none), or 100 ms to 31622400000 ms (366 days)");
  }
}

}  // namespace
}  // namespace baton::runtime
