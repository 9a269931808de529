// ConfigKeeper: creates and checks the group's `config`, and puts the config back after a bad
// write.
//
// While the group has a member, nobody may change the config's shard count, hash or cluster id.
// (`batonctl recover` needs a group without members.) So if the config ceases to fit meanwhile, a
// bad write has changed, damaged or deleted the config. Nodes that were members before the bad
// write go on, and one of them puts the last fitting config back. In these cases the node halts
// instead:
//  - The config has a newer schema, because somebody updates the group.
//  - Another etcd cluster answers.
//  - The first config that the node sees does not fit.
//
// If a node starts and the config is absent, the node creates the config from its own options. But
// while other nodes are members, the node waits until they put the config back.
//
// While the config is bad or absent, nobody claims or transfers shards.
//
// A node that is between two sessions opens no session while the config is bad or absent:
//  - If another etcd cluster answers, the config has a newer schema, or a recovery has closed the
//    group, the node halts at once.
//  - If the config is absent, the node creates the last fitting config again, even if others are
//    members.
//  - If the config is bad in another way, the node waits for kConfigPatience (options.h), and for
//    as long again after each further bad write. The node halts if a full read that began after
//    this wait still shows a bad config.
//
// A config that was put back counts as another incarnation of the store (StoreIncarnationOf in
// runtime/route_feed.h), so followers of routes get all routes again, once. An operator's change of
// settings does not count as another incarnation.
//
// The first live member by id puts the config back at once. Each further member waits 100 ms longer
// than the member before it, up to 5 s, so usually only one writes. If a bad write follows another
// bad write within 10 min, each of these waits is 1 s longer. Each further bad write in such a row
// doubles this second, up to 1 min.
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
  /// The keeper's write has a definite outcome. After that the keeper writes nothing for
  /// kMaxRetryPause. Another bad config ends this pause.
  void On(TimePoint now);
  /// The session is lost, and PendingWrites has dropped the keeper's write.
  void Clear() { in_flight_ = false; }

  /// Checks the config. If needed, creates the config or puts it back. Returns why the node must
  /// halt (kFailedPrecondition); nullopt: the node can go on. REQUIRES (not checked): the view is
  /// complete.
  std::optional<Error> Advance(Context& context);

  /// Whether the last Advance found a config that fits; false before the first Advance. While
  /// fits() is false, no session may open.
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
  TimePoint not_before_{};     ///< when the keeper may write again
  bool said_missing_ = false;  ///< logged that this node waits for the members

  std::optional<Revision> bad_;  ///< of the config that does not fit; 0: it was deleted
  TimePoint bad_since_{};
  TimePoint last_bad_{};
  int bad_in_a_row_ = 0;  ///< up to kMaxInARow
};

}  // namespace baton::core
