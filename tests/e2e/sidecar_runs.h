// SidecarRuns: groups of `batond run` with members in Python, for tests.
#pragma once

#include <chrono>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "e2e/cluster.h"

namespace baton::e2e {

class SidecarRuns : public testing::Test {
 protected:
  // With a lease of a minute no takeover in these tests can come from a lease that ran out.
  explicit SidecarRuns(std::chrono::seconds ttl = std::chrono::seconds(60))
      : cluster_(SharedEtcd(), {.shards = 12, .ttl = ttl}) {}
  static void SetUpTestSuite() {
    const std::string stubs = SharedEtcd().folder() + "/stubs";
    const auto made = RunProgram({.arguments = {GENERATE_STUBS, stubs}},
                                 BootClock::now() + std::chrono::minutes(1));
    ASSERT_TRUE(made.ok() && made.value().success()) << "no stubs were made";
  }
  static std::vector<std::string> Python() {
    return {"/usr/bin/python3", PYTHON_MEMBER, "--stubs", SharedEtcd().folder() + "/stubs"};
  }
  /// With more words than Python has.
  static std::vector<std::string> Python(const std::vector<std::string>& words) {
    std::vector<std::string> line = Python();
    line.insert(line.end(), words.begin(), words.end());
    return line;
  }

  NodeProcess& Run(const std::string& id, const std::vector<std::string>& program,
                   const std::vector<std::string>& flags = {}) {
    std::vector<std::string> line = {"run"};
    const auto add = [&line](const auto& words) {
      line.insert(line.end(), words.begin(), words.end());
    };
    add(cluster_.Flags(id));
    add(flags);
    line.emplace_back("--");
    add(program);
    return cluster_.LaunchProgram(id, BATOND, line);
  }
  NodeProcess& RunPython(const std::string& id, const std::vector<std::string>& flags = {}) {
    NodeProcess& node = Run(id, Python(CtlFlags()), flags);
    cluster_.WaitReady(node);
    return node;
  }
  /// The Python member's answer about a key, which it asks n2 for.
  std::string LookUp(const std::string& key) {
    std::vector<std::string> line = Python();
    const std::string http = "127.0.0.1:" + std::to_string(cluster_.node("n2").http_port());
    line.insert(line.end(), {"--lookup", key, "--http", http});
    for (const std::string& word : CtlFlags()) line.push_back(word);
    const std::string said = cluster_.folder() + "/lookup";
    const auto ran = RunProgram({.arguments = line, .output_path = said},
                                BootClock::now() + std::chrono::minutes(1));
    EXPECT_TRUE(ran.ok() && ran.value().success());
    std::ifstream in(said);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Waits for `key` in the node's log and returns the word after it.
  std::string Logged(const NodeProcess& node, const std::string& key) {
    std::string value;
    cluster_.Await(key + " in the log", [&] {
      const std::string log = node.Log();
      const std::size_t begin = log.find(key);
      if (begin == std::string::npos) return false;
      const std::size_t end = log.find_first_of(" \n", begin + key.size());
      if (end == std::string::npos) return false;
      value = log.substr(begin + key.size(), end - begin - key.size());
      return true;
    });
    return value;
  }
  /// Which of these nodes' Python members stands by for the shard, as they print it; empty: not
  /// exactly one.
  std::string StandbyOf(int shard, const std::vector<std::string>& ids) {
    const std::string number = " " + std::to_string(shard);
    std::vector<std::string> found;
    for (const std::string& id : ids) {
      const std::string log = cluster_.node(id).Log();
      const std::size_t begins = log.rfind("\nstandby" + number + "\n");
      if (begins == std::string::npos) continue;
      const bool over = log.find("\nstandby_ended" + number + "\n", begins) != std::string::npos ||
                        log.find("\nacquired" + number + " ", begins) != std::string::npos;
      if (!over) found.push_back(id);
    }
    return found.size() == 1 ? found.front() : "";
  }
  static std::size_t Count(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
    return count;
  }

  Cluster cluster_;
};

}  // namespace baton::e2e
