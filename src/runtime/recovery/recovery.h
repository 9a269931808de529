// Recovery: what `batonctl recover` does with a group whose etcd was restored from a backup.
//
// Terms are etcd revisions. A restored etcd would give the same terms again, and resources that
// have seen newer ones would refuse them. A running etcd's revision can't be set, but each commit
// adds one. So Recovery commits until the revision is greater than every revision that the group
// can have had. Then it writes the config again, which pins the cluster id of the etcd that answers
// now. Its new revision gives routes another history, so followers of routes begin from scratch.
// Everything else stays as the backup has it: nodes claim the shards by its records, with terms
// above all earlier ones.
//
// Before the first commit, Recovery closes the group: the config names no cluster (id 0), and every
// node that reads it halts. So no node can take a term too early, even if the recovery is
// interrupted. Every commit is also guarded by "the group has no member". An interrupted recovery
// can be run again: it continues from the revision that etcd has reached. At the end it opens the
// group.
//
// Blocking, so call it from a thread that may wait. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/facts.h"
#include "baton/result.h"
#include "etcd/keyspace.h"
#include "etcd/transport.h"

namespace baton::runtime {

/// What etcd has of the group now.
struct GroupSurvey {
  Revision revision;                       ///< etcd's own, for all groups
  std::uint64_t cluster_id = 0;            ///< of the etcd that answers
  ConfigFact config;                       ///< also while closed, unless the group had no config
  std::string config_value;                ///< as stored; empty: no config
  Revision config_revision;                ///< of the config's key; 0: absent
  bool lost = false;                       ///< closed, and the group had no config before
  std::vector<std::string> member_keys;    ///< at most kMaxMembersNamed of them
  std::vector<std::string> unleased_keys;  ///< of those: keys that nothing will delete
  Revision newest;  ///< the newest revision of the group's keys; 0: it has no keys
};

class Recovery {
 public:
  static constexpr std::size_t kMaxMembersNamed = 16;
  /// Commits in flight at once.
  static constexpr std::size_t kInFlight = 128;
  /// The recovery gives up after this many failures in a row. It pauses between attempts.
  static constexpr int kMaxFailures = 30;

  /// REQUIRES: `etcd` outlives this object.
  Recovery(etcd::Transport& etcd, etcd::Keyspace keyspace);

  /// Reads what etcd has of the group. kUnavailable: etcd did not answer, or refused.
  Result<GroupSurvey> Survey();

  /// Called from time to time; return false to stop.
  using Progress = std::function<bool(Revision reached)>;
  /// Closes the group: nodes halt until Open. kFailedPrecondition: the config was changed since
  /// `survey`, or the group has members. kUnavailable: etcd did not answer, or refused. REQUIRES:
  /// the config in `survey` is absent or readable.
  Status Close(const GroupSurvey& survey);

  /// Commits until etcd's revision is at least `target`. Returns the revision that was reached,
  /// which is lower if `progress` said stop. kFailedPrecondition: the group has members.
  /// kUnavailable: etcd does not answer, or refuses writes. REQUIRES: the group is closed, unless
  /// etcd's revision is high enough already.
  Result<Revision> RaiseTo(Revision target, const Progress& progress);

  /// Opens the group: writes the config of `survey` again, with the surveyed cluster id. If the
  /// group had no config, deletes the one that Close wrote. Errors and REQUIRES: as Close.
  Status Open(const GroupSurvey& survey);

 private:
  Status ChangeConfig(const GroupSurvey& survey, bool open);

  etcd::Transport& etcd_;
  const etcd::Keyspace keyspace_;
};

}  // namespace baton::runtime
