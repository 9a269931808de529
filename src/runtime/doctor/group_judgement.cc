#include "runtime/doctor/group_judgement.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace baton::runtime {

Finding Candidates(const Examination& seen) {
  std::size_t live = 0, drained = 0, leaving = 0, weightless = 0;
  for (const MemberStatus& member : seen.status.members) {
    if (!member.fact.Live()) continue;
    ++live;
    if (member.drained_by_policy) {
      ++drained;
    } else if (member.fact.state != MemberState::kActive) {
      ++leaving;
    } else if (member.fact.weight == 0) {
      ++weightless;
    }
  }
  if (live == 0) return {"candidates", Severity::kNotice, "not known: no node is live", {}};
  const std::size_t may_lead = live - drained - leaving - weightless;
  if (may_lead > 0) {
    return {"candidates",
            Severity::kOk,
            fmt::format("{} of {} live nodes may lead", may_lead, live),
            {}};
  }
  return {"candidates", Severity::kProblem,
          fmt::format("none of {} live nodes may lead: {} drained, {} stopping, {} of weight 0; "
                      "they keep what they lead, and nobody takes over after a death",
                      live, drained, leaving, weightless),
          drained > 0 ? "`batonctl nodes undrain NODE` for those that are to lead, or start a node"
                      : "start a node with a weight above 0"};
}

Finding QuarantinedRecords(const Examination& seen) {
  std::optional<std::int64_t> kept;
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    if (endpoint.quarantined) kept = std::max(kept.value_or(0), *endpoint.quarantined);
  }
  if (!kept) return {"records", Severity::kNotice, "not known", {}};
  if (*kept == 0) return {"records", Severity::kOk, "none was damaged", {}};
  return {"records", Severity::kWarning,
          fmt::format("{} damaged records were replaced, and are kept below quarantine/: somebody "
                      "else writes the group's keys",
                      *kept),
          fmt::format("look at them (`etcdctl get --prefix {}/{}/quarantine/`), find the writer, "
                      "then delete them",
                      seen.etcd_prefix, seen.status.group)};
}

Finding Activations(const NodeStatus& status) {
  if (status.failing == 0 || status.worst_failing.empty()) {
    return {"activation", Severity::kOk, "no shard of this node fails to activate", {}};
  }
  const ShardStatus& worst = status.worst_failing.front();
  const auto lasted = std::chrono::duration_cast<std::chrono::seconds>(worst.failing->lasted);
  return {"activation", Severity::kProblem,
          fmt::format("{} of the shards that {} leads fail to activate; worst: shard {}, {} "
                      "attempts in {} s, last error: {}",
                      status.failing, status.node, worst.shard.value, worst.failing->attempts,
                      lasted.count(), worst.failing->last_error),
          fmt::format("repair what the error names; the node tries again every 5 s at least, or at "
                      "once with `batonctl shards retry {}` there",
                      worst.shard.value)};
}

}  // namespace baton::runtime
