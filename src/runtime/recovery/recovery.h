// Recovery: the steps of `batonctl recover`, for a group whose etcd was restored from a backup.
//
// Terms are etcd revisions. A restored etcd would give out old terms a second time. Storage that
// has seen newer terms would refuse the leaders with old terms. Nobody can set the revision of a
// running etcd, but each commit adds one to it. So Recovery commits until the revision has reached
// `target` (RaiseTo). The caller chooses a `target` above every revision that the group can have
// had. Then Recovery writes the config again, with the cluster id of the etcd that answers now. The
// config's new revision gives routes another incarnation, so followers of routes read all routes
// again. Everything else stays as the backup has it. Nodes claim the shards by the records of the
// backup, with terms above all earlier terms.
//
// The caller calls Survey, Close, RaiseTo, Survey again, and Open. Close writes a config without a
// cluster (id 0), and every node that reads this config halts. So no node can take a term too
// early, even if the recovery is interrupted. If the group has a member, etcd refuses each write of
// this class. A recovery that was interrupted can be run again from the start: it continues from
// the revision that etcd has reached.
//
// All methods block, so call them from a thread that may wait. Each call to etcd may take 5 s. Not
// thread-safe. If a commit or a change of the config got no answer, it may still be applied later,
// without harm.
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

/// The state of the group in etcd at one revision.
struct GroupSurvey {
  Revision revision;             ///< of the whole etcd
  std::uint64_t cluster_id = 0;  ///< of the etcd that answers
  ConfigFact config;             ///< absent if the group has no config, or if `lost`
  std::string config_value;      ///< the value of the config's key, as stored; empty: no key
  Revision config_revision;      ///< the mod revision of the config's key; 0: no key
  bool lost = false;             ///< Close made up the config in etcd
  std::vector<std::string> member_keys;    ///< the members' keys, at most kMaxMembersNamed
  std::vector<std::string> unleased_keys;  ///< the keys of member_keys that have no lease
  Revision newest;  ///< the newest mod revision of the group's keys; 0: the group has no keys
};

class Recovery {
 public:
  static constexpr std::size_t kMaxMembersNamed = 16;
  /// The most commits in flight at once.
  static constexpr std::size_t kInFlight = 128;
  /// RaiseTo gives up after this many failed commits in a row. After each failure it waits up to
  /// 100 ms, and then makes one commit at a time until one succeeds. The commits that were in
  /// flight at the first failure count as one failure. If a failure is permanent (CallStatus),
  /// RaiseTo gives up at once.
  static constexpr int kMaxFailures = 30;

  /// REQUIRES: `etcd` outlives this object.
  Recovery(etcd::Transport& etcd, etcd::Keyspace keyspace);

  /// Reads what etcd has of the group. kUnavailable: etcd did not answer, or refused. kInternal:
  /// the answer does not fit the question.
  Result<GroupSurvey> Survey();

  /// RaiseTo calls this function on its caller's thread, every 300 ms or more often, with the
  /// revision that was reached. Return false to stop. Then RaiseTo waits for the commits in flight,
  /// 5 s at most, and does not call the function again.
  using Progress = std::function<bool(Revision reached)>;
  /// Closes the group: each node that reads the config from now until Open halts. If the group has
  /// no config, makes up a config, so that nodes halt all the same (GroupSurvey::lost). A closed
  /// group can be closed again. kFailedPrecondition: the config was changed after `survey`, or the
  /// group has members; nothing was changed. kUnavailable: etcd did not answer, or refused.
  /// REQUIRES (checked): the config in `survey` is absent or readable.
  Status Close(const GroupSurvey& survey);

  /// Commits until etcd's revision is at least `target`. Returns the revision that was reached. It
  /// is lower than `target` only if `progress` returned false. If the revision is high enough
  /// already, changes nothing, and does not call `progress`. kFailedPrecondition: the group has
  /// members. kUnavailable: etcd does not answer, or refuses writes. kInternal: as Survey. After an
  /// error, the commits that were made stay, and RaiseTo can be called again. REQUIRES (not
  /// checked): the group is closed, and `progress` is not empty.
  Result<Revision> RaiseTo(Revision target, const Progress& progress);

  /// Opens the group: writes the config of `survey` again, with the cluster id of `survey`. If
  /// `survey.config` is absent, deletes the made-up config; then the first node makes another.
  /// Nodes that have halted must be started again. Errors and REQUIRES: as Close.
  /// kFailedPrecondition also if `survey` was made before Close, because Close changes the config.
  Status Open(const GroupSurvey& survey);

 private:
  Status ChangeConfig(const GroupSurvey& survey, bool open);

  etcd::Transport& etcd_;
  const etcd::Keyspace keyspace_;
};

}  // namespace baton::runtime
