#include "runtime/doctor/judgement.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "etcd/advice.h"
#include "runtime/doctor/group_judgement.h"
#include "runtime/node_status.h"

namespace baton::runtime {
namespace {

using std::chrono::milliseconds;

// etcd's default without --quota-backend-bytes. A server does not report its quota.
constexpr std::int64_t kDefaultQuota = std::int64_t{2} << 30;
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
// Below this revision it is normal that nothing was compacted yet.
constexpr std::int64_t kYoungRevision = 20'000;
// A renewal is a keepalive and a commit, three times per lease. A commit is slow if it takes more
// than 1/kSlowShare of the lease.
constexpr int kSlowShare = 24;
constexpr int kTooSlowShare = 6;
constexpr std::int64_t kLaggingEntries = 5'000;
constexpr milliseconds kClockDifference{500};

std::string Milliseconds(std::chrono::nanoseconds duration) {
  const auto tenths = std::chrono::duration_cast<std::chrono::microseconds>(duration).count() / 100;
  return fmt::format("{}.{} ms", tenths / 10, tenths % 10);
}
std::string Mebibytes(std::int64_t bytes) { return fmt::format("{} MiB", bytes / kMebibyte); }

/// The names of those endpoints that answered and for which `holds`.
template <typename Holds>
std::vector<std::string> Which(const Examination& seen, Holds holds) {
  std::vector<std::string> names;
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    if (endpoint.unreachable.empty() && holds(endpoint)) names.push_back(endpoint.endpoint);
  }
  return names;
}

std::size_t Reached(const Examination& seen) {
  return Which(seen, [](const EndpointCheckup&) { return true; }).size();
}

Finding Clock(const Examination& seen) {
  if (!seen.clock.told) return {"clock", Severity::kNotice, "the kernel does not tell", {}};
  if (!seen.clock.synchronised) {
    return {"clock", Severity::kWarning, "the kernel says that nothing keeps this clock right",
            "run an NTP client (chrony, systemd-timesyncd): leadership does not depend on it, but "
            "logs, metrics and the expiry of leases in etcd 3.4 do"};
  }
  return {"clock",
          Severity::kOk,
          "kept right, to about " + Milliseconds(seen.clock.estimated_error),
          {}};
}

std::string AdviceToBeReady(const std::string& not_ready) {
  if (not_ready == kNoApplication) {
    return "see whether the application runs, and attaches to the sidecar (docs/clients.md)";
  }
  if (not_ready == kApplicationSilent) {
    return "see whether the application runs, and says in time that it is alive (--watchdog)";
  }
  return "see the findings about etcd below";
}

Finding Session(const Examination& seen) {
  const NodeStatus& status = seen.status;
  if (!seen.answered) {
    return {"session", Severity::kProblem, "the node's loop does not answer",
            "see the node's log; a process that stands still loses its lease"};
  }
  if (status.halted) {
    return {"session", Severity::kProblem, "halted: " + status.halted->message,
            "see docs/troubleshooting.md; restart it once the cause is gone"};
  }
  if (!status.ready) {
    return {"session", Severity::kProblem,
            std::string(ToString(status.session)) + ", not ready: " + status.not_ready,
            AdviceToBeReady(status.not_ready)};
  }
  if (status.session == SessionPhase::kRelay) {
    return {"session", Severity::kOk, "a relay: it has none, and its view is complete", {}};
  }
  return {
      "session",
      Severity::kOk,
      fmt::format("{}, renewed {} ago", ToString(status.session), Milliseconds(status.renewal_age)),
      {}};
}

Finding Ttl(const Examination& seen) {
  if (seen.status.session == SessionPhase::kRelay)
    return {"ttl", Severity::kOk, "a relay has no lease", {}};
  const auto granted = seen.status.ttl;
  if (granted.count() == 0)
    return {"ttl", Severity::kWarning, "no lease was granted yet",
            "see the findings about etcd below"};
  const std::string both =
      fmt::format("asked {} ms, granted {} ms", seen.ttl_asked.count(), granted.count());
  if (granted == seen.ttl_asked) return {"ttl", Severity::kOk, both, {}};
  return {
      "ttl", Severity::kWarning, both,
      "etcd grants no less than 1.5 election timeouts: failover takes the granted time; ask for "
      "that, or shorten etcd's --election-timeout"};
}

Finding Guard(const Examination& seen) {
  if (!seen.guard) return {"guard", Severity::kOk, "this node was not given one of its own", {}};
  const char* const without = "if its process dies, its lease has to run out";
  if (!seen.guard->cannot_act.empty()) {
    return {"guard", Severity::kWarning,
            fmt::format("no guard acts for this node: {}; {}", seen.guard->cannot_act, without),
            "mend that (docs/operating.md, Guards), or start the node without a guard (batond: "
            "--guard off) if that is meant"};
  }
  if (!seen.guard->running) {
    return {"guard", Severity::kWarning,
            fmt::format("it does not run ({} starts so far): {}", seen.guard->starts, without),
            "the node starts it again within a minute; if it ends again, the node's log says why"};
  }
  return {"guard", Severity::kOk, fmt::format("it runs; {} starts so far", seen.guard->starts), {}};
}

Finding Secrets(const Examination& seen) { return JudgeSecrets(seen.secrets); }

/// The words of a failed call mostly begin with the endpoint.
std::string Named(const std::string& endpoint, const std::string& why) {
  return why.starts_with(endpoint + ": ") ? why : endpoint + ": " + why;
}

Finding Members(const Examination& seen) {
  if (seen.endpoints.empty())
    return {"etcd_endpoints", Severity::kProblem, "none is given",
            "give the node at least one etcd endpoint"};
  std::string gone;
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    if (endpoint.unreachable.empty()) continue;
    gone += (gone.empty() ? "" : "; ") + Named(endpoint.endpoint, endpoint.unreachable);
  }
  std::string count = fmt::format("{} of {} answer", Reached(seen), seen.endpoints.size());
  if (seen.endpoints_left_out > 0)
    count += fmt::format(", {} more were not examined", seen.endpoints_left_out);
  if (Reached(seen) == 0) {
    return {"etcd_endpoints", Severity::kProblem, fmt::format("{} ({})", count, gone),
            "see whether etcd runs, whether the node's etcd endpoints are right, and the network "
            "between"};
  }
  if (!gone.empty()) {
    return {"etcd_endpoints", Severity::kWarning, fmt::format("{} ({})", count, gone),
            "mend or replace the member; the others serve meanwhile"};
  }
  if (seen.endpoints.size() == 1) {
    return {"etcd_endpoints", Severity::kNotice, count,
            "give the node the endpoints of all members, so that it can leave one that hangs"};
  }
  return {"etcd_endpoints", Severity::kOk, count, {}};
}

Finding Cluster(const Examination& seen) {
  std::set<std::uint64_t> ids;
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    if (endpoint.cluster != 0) ids.insert(endpoint.cluster);
  }
  if (ids.size() > 1) {
    return {"etcd_cluster", Severity::kProblem, "the endpoints belong to different clusters",
            "give the node the endpoints of one cluster only"};
  }
  const auto leaderless =
      Which(seen, [](const EndpointCheckup& e) { return !e.version.empty() && !e.has_leader; });
  if (!leaderless.empty()) {
    return {"etcd_cluster", Severity::kProblem,
            fmt::format("no leader, say {}", fmt::join(leaderless, ", ")),
            "see etcd's own health: a majority of its members must run and reach each other"};
  }
  const auto learners = Which(seen, [](const EndpointCheckup& e) { return e.learner; });
  if (!learners.empty()) {
    return {"etcd_cluster", Severity::kWarning,
            fmt::format("learners: {}", fmt::join(learners, ", ")),
            "promote them, or take them out of the node's etcd endpoints: a learner refuses most "
            "calls"};
  }
  std::int64_t newest = 0;
  for (const EndpointCheckup& endpoint : seen.endpoints)
    newest = std::max(newest, endpoint.applied);
  const auto late = Which(seen, [&](const EndpointCheckup& e) {
    return e.applied > 0 && newest - e.applied > kLaggingEntries;
  });
  if (!late.empty()) {
    return {"etcd_cluster", Severity::kWarning,
            fmt::format("far behind the others: {}", fmt::join(late, ", ")),
            "see that member's disk and network"};
  }
  return {"etcd_cluster",
          Reached(seen) > 0 ? Severity::kOk : Severity::kNotice,
          Reached(seen) > 0 ? "one cluster, with a leader" : "not known",
          {}};
}

Finding Version(const Examination& seen) {
  std::set<std::string> versions;
  std::vector<std::string> bad;
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    if (endpoint.version.empty()) continue;
    if (!versions.insert(endpoint.version).second || endpoint.faults.empty()) continue;
    bad.push_back(fmt::format("{} has known faults: it {}", endpoint.version,
                              fmt::join(endpoint.faults, "; it ")));
  }
  if (versions.empty()) return {"etcd_version", Severity::kNotice, "not known", {}};
  if (!bad.empty()) {
    return {"etcd_version", Severity::kWarning, fmt::format("{}", fmt::join(bad, ". ")),
            std::string("upgrade to ") + etcd::kAdvisedVersions};
  }
  if (versions.size() > 1) {
    return {"etcd_version", Severity::kNotice,
            fmt::format("several: {}", fmt::join(versions, ", ")), "finish the upgrade"};
  }
  return {"etcd_version", Severity::kOk, *versions.begin(), {}};
}

Finding Latency(const Examination& seen) {
  std::string each, failed;
  std::chrono::nanoseconds worst{0};
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    // A learner accepts no calls. The finding about members reports learners.
    if (!endpoint.failed.empty() && !endpoint.learner)
      failed += (failed.empty() ? "" : ", ") + Named(endpoint.endpoint, endpoint.failed);
    if (endpoint.commit.count() == 0) continue;
    each += fmt::format("{}{} ({})", each.empty() ? "" : ", ", Milliseconds(endpoint.commit),
                        endpoint.endpoint);
    worst = std::max(worst, endpoint.commit);
  }
  const auto ttl = seen.status.ttl.count() > 0 ? seen.status.ttl : milliseconds(10'000);
  const char* const advice =
      "see the disk of etcd's leader (etcd_disk_wal_fsync_duration_seconds) and the network; else "
      "lengthen the nodes' TTL";
  if (!failed.empty()) {
    return {"etcd_latency", Severity::kProblem,
            fmt::format("a read or a commit failed; each may take {} ({})",
                        Milliseconds(kCheckupCall), failed),
            advice};
  }
  if (each.empty())
    return {"etcd_latency", Severity::kNotice, "not known: nothing could be committed", {}};
  const std::string what = "a commit takes " + each;
  if (worst > ttl / kTooSlowShare)
    return {"etcd_latency", Severity::kProblem, what + ": leases will be lost", advice};
  if (worst > ttl / kSlowShare) return {"etcd_latency", Severity::kWarning, what, advice};
  return {"etcd_latency", Severity::kOk, what, {}};
}

Finding Alarms(const Examination& seen) {
  std::set<std::string> alarms;
  for (const EndpointCheckup& endpoint : seen.endpoints)
    alarms.insert(endpoint.alarms.begin(), endpoint.alarms.end());
  if (alarms.empty())
    return {"etcd_alarms",
            Reached(seen) > 0 ? Severity::kOk : Severity::kNotice,
            Reached(seen) > 0 ? "none" : "not known",
            {}};
  return {"etcd_alarms", Severity::kProblem, fmt::format("{}", fmt::join(alarms, ", ")),
          "NOSPACE: compact, `etcdctl defrag`, raise --quota-backend-bytes, then `etcdctl alarm "
          "disarm`; CORRUPT: replace the member. Leaders stay, but no lost session comes back"};
}

Finding Space(const Examination& seen) {
  std::int64_t size = 0, used = 0;
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    if (endpoint.size_bytes > size) used = endpoint.used_bytes;
    size = std::max(size, endpoint.size_bytes);
  }
  if (size == 0) return {"etcd_space", Severity::kNotice, "not known", {}};
  const std::string what =
      fmt::format("{}, of which {} are in use", Mebibytes(size), Mebibytes(used));
  if (size > kDefaultQuota / 4 * 3) {
    return {
        "etcd_space", Severity::kWarning,
        what + "; a server does not tell its quota, and the default is " + Mebibytes(kDefaultQuota),
        "compact and `etcdctl defrag`, or see that --quota-backend-bytes is above it"};
  }
  if (size > 256 * kMebibyte && used < size / 4) {
    return {"etcd_space", Severity::kNotice, what,
            "`etcdctl defrag`, one member after another, frees the rest"};
  }
  return {"etcd_space", Severity::kOk, what, {}};
}

Finding Compaction(const Examination& seen) {
  std::optional<bool> compacted;
  std::int64_t revision = 0;
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    if (!endpoint.compacted) continue;
    compacted = compacted.value_or(false) || *endpoint.compacted;
    revision = std::max(revision, endpoint.revision.value);
  }
  if (!compacted) return {"etcd_compaction", Severity::kNotice, "not known", {}};
  if (*compacted) return {"etcd_compaction", Severity::kOk, "old revisions are compacted", {}};
  if (revision < kYoungRevision) {
    return {
        "etcd_compaction", Severity::kOk, fmt::format("none so far, at revision {}", revision), {}};
  }
  return {"etcd_compaction", Severity::kWarning,
          fmt::format("none in {} revisions: etcd keeps them all", revision),
          fmt::format("start etcd with --auto-compaction-mode=periodic "
                      "--auto-compaction-retention={0}; if it runs with them for less than {0}, or "
                      "`batonctl recover` has just raised its revision, look again later",
                      etcd::kAdvisedRetention)};
}

// The status is older than the endpoints' answers, so in one history they can't be below it.
Finding StoreRevision(const Examination& seen) {
  const std::int64_t known = seen.status.revision.value;
  const auto below = Which(seen, [&](const EndpointCheckup& e) {
    return e.revision.value > 0 && e.revision.value < known;
  });
  if (!below.empty()) {
    std::int64_t found = known;
    for (const EndpointCheckup& endpoint : seen.endpoints) {
      if (endpoint.revision.value > 0) found = std::min(found, endpoint.revision.value);
    }
    return {"etcd_revision", Severity::kProblem,
            fmt::format("{}: at revision {}, below {}, which this node has seen: etcd was wiped or "
                        "restored from a backup",
                        fmt::join(below, ", "), found, known),
            "see \"Restored backups\" and \"A wiped etcd\" in docs/operating.md"};
  }
  if (known == 0 || Reached(seen) == 0) {
    return {"etcd_revision", Severity::kNotice, "not known", {}};
  }
  return {"etcd_revision",
          Severity::kOk,
          fmt::format("not below {}, which this node has seen", known),
          {}};
}

Finding Access(const Examination& seen) {
  const std::string grant = "`etcdctl role grant-permission ROLE readwrite --prefix=true " +
                            seen.etcd_prefix + "/`, to the role of the node's user";
  for (const EndpointCheckup& endpoint : seen.endpoints) {
    if (!endpoint.unreachable.empty()) continue;
    if (endpoint.read_refused.find(kWrongPassword) != std::string::npos) {
      return {"etcd_access", Severity::kProblem,
              endpoint.endpoint + " does not take the user's password: " + endpoint.read_refused,
              "see the node's etcd user and password, and `etcdctl user passwd`"};
    }
    if (!endpoint.read_refused.empty()) {
      return {"etcd_access", Severity::kProblem,
              endpoint.endpoint + " refuses to let the group be read: " + endpoint.read_refused,
              grant};
    }
    if (!endpoint.write_refused.empty()) {
      return {"etcd_access", Severity::kProblem,
              endpoint.endpoint + " refuses to let the group be written: " + endpoint.write_refused,
              grant};
    }
  }
  if (Reached(seen) == 0) return {"etcd_access", Severity::kNotice, "not known", {}};
  if (!seen.authenticates) {
    return {
        "etcd_access", Severity::kNotice,
        "the node may read and write, and shows neither password nor certificate: so may everybody "
        "who reaches etcd",
        "turn etcd's authentication or client certificates on"};
  }
  return {"etcd_access", Severity::kOk, "the node's user may read and write the group", {}};
}

Finding Skew(const Examination& seen) {
  std::map<std::string, std::size_t> versions;
  std::set<std::string> leases, assignments;
  std::size_t live = 0;
  for (const MemberStatus& member : seen.status.members) {
    if (!member.fact.Live()) continue;
    ++live;
    ++versions[member.fact.software_version];
    leases.insert(fmt::format("{} ms", member.fact.ttl.count()));
    assignments.insert(std::to_string(member.fact.assignment_version));
  }
  std::vector<std::string> counted;
  for (const auto& [version, count] : versions)
    counted.push_back(fmt::format("{} on {}", version, count));
  if (live == 0)
    return {"members", Severity::kProblem, "no member is live",
            "start a node, or see why none is ready"};
  if (versions.size() > 1 || assignments.size() > 1) {
    return {"members", Severity::kWarning,
            fmt::format("different versions: {}", fmt::join(counted, ", ")),
            "finish the upgrade: until then the group divides shards as its oldest member can"};
  }
  if (leases.size() > 1) {
    return {"members", Severity::kWarning,
            fmt::format("different leases: {}", fmt::join(leases, ", ")),
            "give all nodes the same TTL: a death is noticed after the dead one's"};
  }
  return {"members",
          Severity::kOk,
          fmt::format("{} live, all alike ({})", live, fmt::join(counted, ", ")),
          {}};
}

Finding Exposure(const Examination& seen) {
  if (!seen.exposed) return {"exposure", Severity::kOk, "whose ports these are is not known", {}};
  if (seen.exposed->empty()) {
    return {"exposure",
            Severity::kOk,
            "only this host, or clients with a certificate, reach the ports",
            {}};
  }
  return {"exposure", Severity::kWarning,
          fmt::format("{} {} open to everybody who reaches {}: no client certificate is required",
                      fmt::join(*seen.exposed, " and "), seen.exposed->size() == 1 ? "is" : "are",
                      seen.exposed->size() == 1 ? "it" : "them"),
          "require client certificates (--tls-client-ca, with --tls-client-auth require), or let "
          "only a trusted network reach the ports; --access says who may do what, and SECURITY.md "
          "what a stranger can do there"};
}

Finding ActivationsOfNode(const Examination& seen) { return Activations(seen.status); }
Finding CallbacksOfNode(const Examination& seen) { return Callbacks(seen.status); }

}  // namespace

std::vector<Finding> Judge(const Examination& seen) {
  std::vector<Finding> findings;
  const auto add = [&](const auto&... checks) { (findings.push_back(checks(seen)), ...); };
  // A finding about a status that was never seen is neither good nor bad.
  const auto add_of_status = [&](const auto&... checks) {
    const auto judged = [&](Finding finding) {
      if (seen.known) return finding;
      return Finding{finding.check, Severity::kNotice, "not known: the loop does not answer", {}};
    };
    (findings.push_back(judged(checks(seen))), ...);
  };
  add(Session);
  add_of_status(Ttl);
  add(Guard, Clock, Secrets, Members, Cluster, Version, Latency, Alarms, Space, Compaction,
      StoreRevision, Access, QuarantinedRecords);
  add_of_status(Skew, ExpectedNodes, Candidates, Failover, Shards, PlacementFinding, Deaths,
                ActivationsOfNode, CallbacksOfNode, Balance, Series);
  add(Exposure);
  return findings;
}

Finding ClockDifference(std::chrono::system_clock::time_point asked,
                        std::chrono::system_clock::time_point node,
                        std::chrono::system_clock::time_point answered) {
  // In microseconds: the difference of any two clocks' times then fits.
  const auto whole = [](std::chrono::system_clock::time_point time) {
    return std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch());
  };
  const auto between = node < asked      ? whole(asked) - whole(node)
                       : node > answered ? whole(node) - whole(answered)
                                         : std::chrono::microseconds{0};
  const auto off = std::chrono::duration_cast<milliseconds>(between);
  if (off < kClockDifference) {
    return {"clock_difference", Severity::kOk, "the node's clock and this host's agree", {}};
  }
  return {
      "clock_difference", Severity::kWarning,
      fmt::format("the node's clock is {} ms {} this host's", off.count(),
                  node < asked ? "behind" : "ahead of"),
      "run an NTP client on both: leadership does not depend on it, but times in logs and metrics "
      "don't compare"};
}

}  // namespace baton::runtime
