// ConfigKeeper: creates the group's `config`, checks it, and puts it back if a bad write replaced
// it.
//
// The config's shard count, hash and cluster id never change while the group has a member. Only
// `batonctl recover` may write other ones, and only into a group without members. So if a config
// stops fitting after this node has joined, somebody wrote it by mistake. The write may have left
// other numbers, unreadable bytes, or no config. A node that was a member before that write goes
// on. One of these nodes puts the last fitting config back. Its write is guarded by its session and
// by the bad config's revision. These cases are no mistakes, and halt the node:
//  - The config has a newer schema: somebody updates the group.
//  - The config fits no longer because another etcd answers.
//  - There is a config when the node starts, and it does not fit.
//
// If there is no config when a node starts, the node creates it from its own options. But if other
// nodes are members, the config was deleted by mistake, and this node waits until they put it back.
// Without this wait, a node with wrong options could write them into the config. A node that has
// known a fitting config may create it again even if others are members.
//
// Until a bad config is put back, nobody claims or transfers shards. The reason: just before the
// bad write, an operator may have written settings that forbid this.
//
// A node that is between two sessions can't tell a bad write from a recovery. It opens no session
// while the config is bad. It halts if a full read still shows the config bad, and that read began
// kConfigPatience or more after this node first saw this bad config. After each further bad write,
// this time begins again. There are three other cases:
//  - A recovery has closed the group: the node halts at once.
//  - The config is absent: the node creates it again, and does not halt.
//  - Another etcd answers, or the config has a newer schema: the node halts at once.
//
// A config that was put back is another incarnation of the store for the followers of routes
// (StoreIncarnationOf), so each follower gets all routes again, once. A config with settings that
// an operator changed is the same incarnation.
//
// Usually only one node writes for each bad config. The first live member by id writes at once, and
// each next one waits 100 ms longer, up to 5 s. The first write ends the wait of all. If a bad
// write follows another one within 10 min, all members first wait for a second. Each further bad
// write in such a row doubles this wait, up to a minute.
//
// Pure and single-threaded: owned by the core.
#pragma once

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/facts.h"
#include "baton/result.h"
#include "core/context.h"
#include "core/group_config.h"

namespace baton::core {

class ConfigKeeper {
 public:
  /// The etcd that answers has this cluster id; 0: not known.
  void NoteCluster(std::uint64_t id) { cluster_id_ = id; }
  /// The keeper's write has a definite outcome. The keeper writes nothing more for kMaxRetryPause,
  /// unless another bad config comes.
  void On(TimePoint now);
  /// The session is lost, and PendingWrites has dropped the keeper's write.
  void Clear() { in_flight_ = false; }

  /// Checks the config, and creates it or puts it back. Returns why the node must halt
  /// (kFailedPrecondition); nullopt: the node can go on. REQUIRES (not checked): the view is
  /// complete.
  std::optional<Error> Advance(Context& context);

  /// Whether there was a config that fitted at the last Advance; false before the first one. While
  /// it is false, no session may open.
  bool fits() const { return fits_; }
  /// ConfigFact::Incarnation of the last config that fitted; 0: no config has fitted yet.
  Revision incarnation() const { return known_ ? known_->Incarnation() : Revision{}; }

 private:
  void Accept(Context& context, const ConfigFact& config);
  void NoteBad(Context& context, const ConfigFact& found);
  void CreateFirst(Context& context);
  void Create(Context& context);
  std::optional<Error> Wait(const Context& context, const Error& wrong) const;
  void Mend(Context& context, const ConfigFact& found);
  /// REQUIRES: known_ is set.
  const ConfigFact& LastFitting(const Context& context) const;
  Duration MendPause() const;

  std::uint64_t cluster_id_ = 0;  ///< of the etcd that answered last
  bool fits_ = false;
  std::optional<ConfigFact> known_;  ///< the last config that fitted
  bool in_flight_ = false;
  TimePoint not_before_{};     ///< when it may write again after an answer
  bool said_missing_ = false;  ///< logged that the members have to put the config back

  std::optional<Revision> bad_;  ///< of the config that does not fit; 0: it was deleted
  TimePoint bad_since_{};
  TimePoint last_bad_{};
  int bad_in_a_row_ = 0;  ///< up to a bound
};

}  // namespace baton::core
