// For the tests of the doctor's judgement: a situation in which all is well, and the finding
// after something is made wrong in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/doctor/judgement.h"

namespace baton::runtime {

inline EndpointCheckup Healthy(const std::string& name) {
  EndpointCheckup endpoint;
  endpoint.endpoint = name;
  endpoint.version = "3.5.30";
  endpoint.cluster = 77;
  endpoint.has_leader = true;
  endpoint.applied = 50'000;
  endpoint.size_bytes = 20 << 20;
  endpoint.used_bytes = 10 << 20;
  endpoint.commit = std::chrono::milliseconds(3);
  endpoint.revision = Revision{40'000};
  endpoint.compacted = true;
  endpoint.quarantined = 0;
  return endpoint;
}

inline MemberStatus Member(const std::string& node) {
  MemberStatus member;
  member.fact.node = node;
  member.fact.present = true;
  member.fact.lease = member.fact.session = SessionId{7};
  member.fact.ttl = std::chrono::milliseconds(10'000);
  member.fact.software_version = "0.1.0";
  return member;
}

/// n1 leads two shards, n2 none. etcd has three members, and requires a password.
inline Examination Well() {
  Examination seen;
  NodeStatus& status = seen.status;
  status.group = "orders";
  status.node = status.balancer = "n1";
  status.session = SessionPhase::kLive;
  status.ready = true;
  status.ttl = seen.ttl_asked = std::chrono::milliseconds(10'000);
  status.shard_count = 2;
  status.revision = Revision{40'000};
  status.members = {Member("n1"), Member("n2")};
  status.shards.resize(2);
  for (std::uint32_t i = 0; i < 2; ++i) {
    status.shards[i].shard = ShardId{i};
    status.shards[i].leader = "n1";
    status.shards[i].state = ShardState::kLed;
  }
  seen.etcd_prefix = "/baton/v1";
  seen.authenticates = true;
  seen.max_shard_series = 50'000;
  seen.exposed = std::vector<std::string>{};
  seen.endpoints = {Healthy("a:2379"), Healthy("b:2379"), Healthy("c:2379")};
  seen.clock = {
      .told = true, .synchronised = true, .estimated_error = std::chrono::milliseconds(1)};
  return seen;
}

inline EndpointCheckup Gone(const std::string& name) {
  EndpointCheckup endpoint;
  endpoint.endpoint = name;
  endpoint.unreachable = "connection refused";
  return endpoint;
}

/// The finding about `check` after `harm`. Also checks the form of all findings.
inline Finding After(const std::string& check, const std::function<void(Examination&)>& harm) {
  Examination seen = Well();
  harm(seen);
  Finding found;
  for (const Finding& finding : Judge(seen)) {
    EXPECT_EQ((finding.what + finding.advice).find('\n'), std::string::npos) << finding.check;
    EXPECT_THAT(finding.what, testing::Not(testing::IsEmpty())) << finding.check;
    if (finding.severity >= Severity::kWarning) {
      EXPECT_THAT(finding.advice, testing::Not(testing::IsEmpty())) << finding.check;
    }
    if (finding.check == check) found = finding;
  }
  EXPECT_EQ(found.check, check);
  return found;
}
inline Finding AfterNode(const std::string& check, const std::function<void(NodeStatus&)>& harm) {
  return After(check, [&](Examination& seen) { harm(seen.status); });
}
/// Nobody leads the second shard; returns it.
inline ShardStatus& Leaderless(NodeStatus& status) {
  status.leaderless = 1;
  ShardStatus& shard = status.shards[1];
  shard.leader.clear();
  shard.state = ShardState::kLeaderless;
  return shard;
}
/// Harms the second endpoint.
inline Finding AfterEtcd(const std::string& check,
                         const std::function<void(EndpointCheckup&)>& harm) {
  return After(check, [&](Examination& seen) { harm(seen.endpoints[1]); });
}

inline void Expect(const Finding& finding, Severity severity, const std::string& what,
                   const std::string& advice) {
  EXPECT_EQ(finding.severity, severity) << finding.check;
  EXPECT_THAT(finding.what, testing::HasSubstr(what));
  EXPECT_THAT(finding.advice, testing::HasSubstr(advice));
}

inline constexpr Severity kNotice = Severity::kNotice;
inline constexpr Severity kWarning = Severity::kWarning;
inline constexpr Severity kProblem = Severity::kProblem;

}  // namespace baton::runtime
