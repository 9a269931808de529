// A short run of examples/kv: what callers of a sharded service see while its nodes are restarted
// and killed. The load checks its own answers; `trial` says which requests failed.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/subprocess.h"

namespace baton {
namespace {

struct Outcome {
  bool ended = false;
  int code = -1;
  std::string said;
};

Outcome Trial(std::vector<std::string> options) {
  std::string folder = (std::filesystem::temp_directory_path() / "baton-trial-XXXXXX").string();
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  SubprocessOptions program;
  program.arguments = {KV_TRIAL, "--bin", KV_BIN};
  program.arguments.insert(program.arguments.end(), options.begin(), options.end());
  program.output_path = folder + "/said";
  const auto status = RunProgram(program, BootClock::now() + std::chrono::minutes(4));
  Outcome outcome;
  outcome.ended = status.ok();
  if (status.ok()) outcome.code = status.value().code;
  std::stringstream said;
  said << std::ifstream(program.output_path).rdbuf();
  outcome.said = said.str();
  std::filesystem::remove_all(folder);
  return outcome;
}

// Plan: each of three nodes is drained, stopped and started again under load: no caller notices.
TEST(Kv, RollingRestartsFailNoRequest) {
  const Outcome outcome =
      Trial({"--restarts", "3", "--seconds", "25", "--rate", "300", "--clients", "24"});
  EXPECT_TRUE(outcome.ended) << outcome.said;
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  EXPECT_NE(outcome.said.find(" 0 failed, 0 wrong"), std::string::npos) << outcome.said;
}

// Plan: the same with TLS: every node, and the load, gets another certificate about once a second,
// and the authority is replaced in the middle: no caller notices.
TEST(Kv, RestartsUnderTlsWithRotatingCertificatesFailNoCall) {
  const Outcome outcome =
      Trial({"--tls", "--restarts", "3", "--seconds", "40", "--rate", "300", "--clients", "24"});
  EXPECT_TRUE(outcome.ended) << outcome.said;
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  EXPECT_NE(outcome.said.find("the authority was replaced in "), std::string::npos) << outcome.said;
  EXPECT_NE(outcome.said.find(" 0 failed, 0 wrong"), std::string::npos) << outcome.said;
}

// Plan: a node is killed: calls may fail until its lease has run out, and no answer is wrong.
TEST(Kv, AKilledNodeCostsItsShardsTheFailoverAlone) {
  const Outcome outcome = Trial({"--restarts", "0", "--kills", "1", "--ttl", "3", "--seconds", "20",
                                 "--rate", "300", "--clients", "24"});
  EXPECT_TRUE(outcome.ended) << outcome.said;
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  EXPECT_NE(outcome.said.find(" 0 wrong"), std::string::npos) << outcome.said;
}

// Plan: a shard takes 4 s to load. A node with a guard is killed, with standbys and without. The
// lease plays no part. With standbys every shard is served elsewhere within half of that time, and
// no call fails that begins later; without them it takes the whole time. `trial` checks both.
TEST(Kv, StandbysServeAKilledNodesShardsLongBeforeTheyCouldBeLoaded) {
  for (const std::string standbys : {"1", "0"}) {
    const Outcome outcome = Trial({"--restarts", "0", "--kills", "1", "--guard", "--ttl", "60",
                                   "--load-time-ms", "4000", "--standbys", standbys, "--seconds",
                                   "15", "--rate", "300", "--clients", "24"});
    EXPECT_TRUE(outcome.ended) << outcome.said;
    EXPECT_EQ(outcome.code, 0) << standbys << " standbys: " << outcome.said;
    EXPECT_NE(outcome.said.find("every shard served again"), std::string::npos) << outcome.said;
    EXPECT_NE(outcome.said.find(" 0 wrong"), std::string::npos) << outcome.said;
  }
}

// Plan: etcd is stopped for longer than the leases and started again. Leaders stop and then go on
// in their terms, and everything heals by itself.
TEST(Kv, AnOutageOfEtcdIsAPauseNotAnElection) {
  const Outcome outcome = Trial({"--restarts", "0", "--outages", "1", "--outage", "6", "--ttl", "3",
                                 "--seconds", "30", "--rate", "300", "--clients", "24"});
  EXPECT_TRUE(outcome.ended) << outcome.said;
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  EXPECT_NE(outcome.said.find(" 0 wrong"), std::string::npos) << outcome.said;
}

}  // namespace
}  // namespace baton
