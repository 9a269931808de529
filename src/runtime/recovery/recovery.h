// Recovery: what `batonctl recover` does to a group whose etcd was restored from a backup.
//
// Terms are etcd's revisions, so a restored etcd would give terms out a second time, and resources
// that have seen newer ones would refuse them. Revisions can't be set in a running etcd, but each
// commit adds one: Recovery commits until every revision that the group can have had is passed.
// Then the config is written anew: it pins the id of the cluster that answers now, and its new
// revision gives routes another identity, so that whoever follows them begins anew. Everything else
// stays as the backup has it; nodes claim what its records say, with terms above all earlier ones.
//
// Before the first commit the group is closed: its config names no cluster (id 0), at which every
// node halts. So a node that is started while the work is half done, or was stopped half-way, can't
// take a term from in between. Every commit is also guarded by "the group has no member". Going on
// later takes up where it stopped; the end opens the group.
//
// Blocking: for a thread that may wait. One thread at a time.
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

/// What etcd holds of the group now.
struct GroupSurvey {
  Revision revision;                       ///< etcd's, of all groups
  std::uint64_t cluster_id = 0;            ///< of the etcd that answers
  ConfigFact config;                       ///< also while closed, but for a group that had none
  std::string config_value;                ///< as stored; empty: none
  Revision config_revision;                ///< of the key; 0: absent
  bool lost = false;                       ///< closed, and had no config before
  std::vector<std::string> member_keys;    ///< at most kMostMembersNamed of them
  std::vector<std::string> unleased_keys;  ///< of those: no lease will ever end them
  Revision newest;  ///< the newest revision of the group's keys; 0: it has none
};

class Recovery {
 public:
  static constexpr std::size_t kMostMembersNamed = 16;
  /// Commits under way at once.
  static constexpr std::size_t kInFlight = 128;
  /// Of commits without an answer, tried one after another with a pause: then it gives up.
  static constexpr int kMostFailures = 30;

  /// `etcd` must outlive this object.
  Recovery(etcd::Transport& etcd, etcd::Keyspace keyspace);

  /// kUnavailable: etcd gave no answer, or refused it.
  Result<GroupSurvey> Survey();

  /// Told now and then; false: stop here.
  using Progress = std::function<bool(Revision reached)>;
  /// From now on nodes halt, until Open. Errors as RaiseTo, and kFailedPrecondition: the config was
  /// changed since `survey`. REQUIRES: its config is absent or readable.
  Status Close(const GroupSurvey& survey);

  /// Commits until etcd's revision is `target` or above; answers the revision that was reached,
  /// which is lower where `progress` said stop. kFailedPrecondition: the group has members.
  /// kUnavailable: etcd gave no answers, or refuses writes. REQUIRES: closed, unless etcd's
  /// revision is there already.
  Result<Revision> RaiseTo(Revision target, const Progress& progress);

  /// Writes the config of `survey` again, with the cluster's id as surveyed, or takes away what
  /// Close left of a group that had none. Errors and REQUIRES as Close.
  Status Open(const GroupSurvey& survey);

 private:
  Status ChangeConfig(const GroupSurvey& survey, bool open);

  etcd::Transport& etcd_;
  const etcd::Keyspace keyspace_;
};

}  // namespace baton::runtime
