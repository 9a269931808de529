// ConfigKeeper: creates the group's `config`, checks it, and puts it back if a bad write replaced
// it.
//
// The config's shard count, hash and cluster id never change while the group has a member:
// `batonctl recover`, the only other writer, requires that there is none. So if a config stops
// fitting after this node has joined, the write was a mistake, whether it left other numbers,
// bytes that can't be read, or nothing. A node that was a member before that write goes on, and one
// such node puts back what they all know, guarded by its session and by the bad config's revision.
// These are no mistakes, and halt the node as ever:
//   - a newer schema: somebody updates the group;
//   - a config that fits no longer because another etcd answers;
//   - whatever a node finds when it starts.
// If there is no config when a node starts, the node creates it from its own options, unless others
// are members: then the config was deleted by mistake, and they put it back. Otherwise a node with
// other options could make them the group's. A node that knows the config may always create it.
//
// Until a bad config is put back, nobody claims shards: settings that forbid it may have been
// written before, unseen.
//
// A node that is between two sessions can't tell a bad write from a recovery. It opens no session
// while the config is bad. It halts if the config has been bad for kConfigPatience and a read of
// everything that began later still shows it bad. If a recovery has closed the group, it halts at
// once.
//
// A config that was put back is another incarnation of the store for the followers of routes
// (StoreIncarnationOf), so each gets all routes again, once. One whose settings an operator changed
// is not.
//
// Usually one node alone writes for each bad config: the first member by id writes at once, each
// next one waits 100 ms longer, and the first write ends the wait of all. If bad writes follow one
// another, all wait for a second first, and for twice as long after each further one, up to a
// minute.
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
  /// etcd answers with this cluster id.
  void NoteCluster(std::uint64_t id) { cluster_id_ = id; }
  /// The keeper's write has a definite outcome.
  void On(TimePoint now);
  /// The keeper's write was dropped: the session is lost.
  void Clear() { in_flight_ = false; }

  /// Checks the config, and creates it or puts it back. Returns why the node must halt; nullopt: it
  /// can go on. REQUIRES: the view is complete.
  std::optional<Error> Advance(Context& context);

  /// Whether the config fits now, so that a session may open.
  bool fits() const { return fits_; }
  /// ConfigFact::Incarnation of the last config that fitted; 0: none did yet.
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
  std::optional<ConfigFact> known_;  ///< the last that fitted
  bool in_flight_ = false;
  TimePoint not_before_{};     ///< after an answer
  bool said_missing_ = false;  ///< that members have to put it back

  std::optional<Revision> bad_;  ///< of the config that does not fit; 0: it was deleted
  TimePoint bad_since_{};
  TimePoint last_bad_{};
  int bad_in_a_row_ = 0;  ///< up to a bound
};

}  // namespace baton::core
