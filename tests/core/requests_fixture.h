// For the tests of operators' requests: a group, n1, which is asked, and its answers.
#pragma once

#include <gtest/gtest.h>

#include "core/cluster.h"

namespace baton::test {

class RequestsTest : public ::testing::Test {
 protected:
  explicit RequestsTest(ClusterOptions options) : cluster_(std::move(options)) {}

  static std::string Text(const Status& status) {
    if (status.ok()) return "ok";
    return std::string(ToString(status.error().code)) + ": " + status.error().message;
  }
  template <typename Asked>
  void Ask(const NodeId& node, Asked asked) {
    asked.request = next_++;
    cluster_.Deliver(node, std::move(asked));
  }
  /// Asks n1, and returns its answer.
  template <typename Asked>
  std::string Answer(Asked asked) {
    const std::size_t before = Answers().size();
    Ask("n1", std::move(asked));
    cluster_.Run(seconds(1));
    const auto answers = Answers();
    return answers.size() == before + 1 ? answers.back() : "no answer";
  }
  std::vector<std::string> Answers() const {
    std::vector<std::string> answers;
    for (const auto& [at, answer] : cluster_.Asked<core::AnswerChange>("n1")) {
      answers.push_back(Text(answer.result));
    }
    return answers;
  }
  ConfigFact StoredConfig() { return std::get<ConfigFact>(cluster_.store().Get("config")); }
  /// Writes the settings by hand. All nodes hear of them.
  void Set(const FailoverSettings& failover) {
    ConfigFact config = StoredConfig();
    config.schema = kConfigSchema;
    config.failover = failover;
    cluster_.store().Put(config);
    cluster_.HoldWatch("n1", false);  // the watches hear of it
    cluster_.Run(seconds(1));
  }
  /// The write of n1's that is held up reaches etcd now, and n1 gets the answer.
  WriteResult LetLast() {
    const core::SubmitWrite held = cluster_.Asked<core::SubmitWrite>("n1").back().second;
    const WriteResult result = cluster_.store().Execute(*held.write);
    cluster_.PassNewWrites("n1");
    cluster_.Deliver("n1", core::WriteAnswered{held.operation, result});
    return result;
  }

  core::RequestId next_ = 1;
  Cluster cluster_;
};

}  // namespace baton::test
