// Recovery: the steps of `batonctl recover`, for a group whose etcd was restored from a backup.
//
// Terms are etcd revisions. A restored etcd would give terms again that it has given before.
// Storage that has seen newer terms would refuse leaders with such terms. A running etcd's revision
// can't be set, but each commit adds one. So Recovery commits until the revision is greater than
// every revision that the group can have had (RaiseTo's `target`, which the caller chooses). Then
// it writes the config again, with the cluster id of the etcd that answers now. The config's new
// revision gives routes another incarnation, so followers of routes begin from scratch. Everything
// else stays as the backup has it: nodes claim the shards by its records, with terms above all
// earlier ones.
//
// The caller calls Survey, Close, RaiseTo, Survey again, and Open. Close writes a config without a
// cluster (id 0), and every node that reads this config halts. So no node can take a term too
// early, even if the recovery is interrupted. Every commit is also guarded by "the group has no
// member". An interrupted recovery can be run again from the start: it continues from the revision
// that etcd has reached.
//
// Blocking, so call it from a thread that may wait; each call to etcd may take 5 s. Not
// thread-safe. A commit or a change of the config that got no answer may still be applied later;
// that does no harm.
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

/// The state of the group in etcd now.
struct GroupSurvey {
  Revision revision;             ///< etcd's own, for all groups
  std::uint64_t cluster_id = 0;  ///< of the etcd that answers
  ConfigFact config;             ///< the group's own; absent if there is no key, or if `lost`
  std::string config_value;      ///< the key's value as stored; empty: no key
  Revision config_revision;      ///< of the config's key; 0: no key
  bool lost = false;             ///< the config in etcd is one that Close made up
  std::vector<std::string> member_keys;    ///< at most kMaxMembersNamed of them
  std::vector<std::string> unleased_keys;  ///< of member_keys, those without a lease
  Revision newest;  ///< the newest revision of the group's keys; 0: the group has no keys
};

class Recovery {
 public:
  static constexpr std::size_t kMaxMembersNamed = 16;
  /// The most commits in flight at once.
  static constexpr std::size_t kInFlight = 128;
  /// RaiseTo gives up after this many failed commits in a row, with a pause of 100 ms after each.
  /// All commits that were in flight when one failed count as one failure. If a failure is
  /// permanent (CallStatus), RaiseTo gives up at once.
  static constexpr int kMaxFailures = 30;

  /// REQUIRES: `etcd` outlives this object.
  Recovery(etcd::Transport& etcd, etcd::Keyspace keyspace);

  /// Reads what etcd has of the group. kUnavailable: etcd did not answer, or refused. kInternal:
  /// the answer does not fit the question.
  Result<GroupSurvey> Survey();

  /// RaiseTo calls it on its caller's thread, every 300 ms or more often, with the revision that
  /// was reached. Return false to stop: then RaiseTo waits for the commits in flight, 5 s at most,
  /// and does not call it again.
  using Progress = std::function<bool(Revision reached)>;
  /// Closes the group: nodes that read the config halt, until Open. If the group has no config,
  /// makes one up, so that the nodes have one to read (GroupSurvey::lost). A closed group can be
  /// closed again. kFailedPrecondition: the config was changed after `survey`, or the group has
  /// members; nothing was changed. kUnavailable: etcd did not answer, or refused. REQUIRES
  /// (checked): the config in `survey` is absent or readable.
  Status Close(const GroupSurvey& survey);

  /// Commits until etcd's revision is at least `target`. Returns the revision that was reached,
  /// which is lower than `target` only if `progress` returned false. If the revision is high enough
  /// already, changes nothing, and does not call `progress`. kFailedPrecondition: the group has
  /// members. kUnavailable: etcd does not answer, or refuses writes. kInternal: as Survey. After an
  /// error, the commits that were made stay, and RaiseTo can be called again. REQUIRES: the group
  /// is closed, unless etcd's revision is high enough already.
  Result<Revision> RaiseTo(Revision target, const Progress& progress);

  /// Opens the group: writes the config of `survey` again, with the cluster id of `survey`. If the
  /// group had no config before, deletes the config that Close made up. Errors: as Close. REQUIRES
  /// (checked): as Close. REQUIRES: `survey` was made after Close, if Close was called.
  Status Open(const GroupSurvey& survey);

 private:
  Status ChangeConfig(const GroupSurvey& survey, bool open);

  etcd::Transport& etcd_;
  const etcd::Keyspace keyspace_;
};

}  // namespace baton::runtime
