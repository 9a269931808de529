// KnownSessions: remembers which sessions a view saw alive, when each node's last session ended,
// and which sessions were proven dead.
//
// Pure and single-threaded: owned by a View.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"

namespace baton::core {

/// The end of a node's last session, as the watch showed it.
struct LeaseEnd {
  Revision revision;  ///< at which the member key was deleted or taken over
  TimePoint seen_at;  ///< when this node learnt of the end
  Duration ttl;       ///< of the session that ended
  /// DeathFact::detect of the session's proven death. Unset: no proof gave this time.
  /// KnownSessions::NoteEnd sets this field.
  std::optional<Duration> detect{};
};

/// Returns the proven deaths in a watch message. A death is proven if one revision both wrote
/// `died` and deleted the node's member key: then one transaction did both (SessionEnd in
/// base/writes.h). `died` alone proves nothing. The returned pointers point into `facts`. REQUIRES
/// (not checked): `facts` came from the watch, because a read does not show when a key was deleted.
std::vector<const DeathFact*> ProvenDeaths(const std::vector<Fact>& facts);

class KnownSessions {
 public:
  /// The node's member key has this session's lease.
  void NoteAlive(const SessionRef& session) { Remember(seen_alive_[session.node], session); }
  /// The session's process is proven dead. Returns false if the death is known already, and then
  /// ignores `detect` (see DeathFact). A death that was forgotten counts as new.
  bool NoteProvenDead(const SessionRef& session, std::optional<Duration> detect = std::nullopt) {
    if (!Remember(proven_dead_[session.node], session)) return false;
    if (detect) detected_[session.node] = {session.session, *detect};
    return true;
  }
  /// An earlier process of this view's own node had this session. That process is dead, and nobody
  /// acts on the session's shards any more. Also notes the session as proven dead.
  void NoteStopped(const SessionRef& session) {
    NoteProvenDead(session);
    Remember(stopped_[session.node], session);
  }
  /// The watch showed the end of the node's last session. If the death was proven, call
  /// NoteProvenDead first: otherwise LeaseEnd::detect stays unset.
  void NoteEnd(const SessionRef& session, LeaseEnd end);
  /// Nobody knows when the node's last session ended: forgets the end that was noted.
  void ForgetEnd(const NodeId& node) { ends_.erase(node); }
  // Each list keeps the 8 sessions of a node that were noted last. Older ones count as never noted.
  bool SeenAlive(const SessionRef& session) const { return Contains(seen_alive_, session); }
  bool ProvenDead(const SessionRef& session) const { return Contains(proven_dead_, session); }
  bool Stopped(const SessionRef& session) const { return Contains(stopped_, session); }
  /// The end of the node's last session. Null: no end was noted, or the end was forgotten. The
  /// pointer is valid until the next call that is not const.
  const LeaseEnd* LastEnd(const NodeId& node) const;
  /// Forgets everything about the nodes for which `which` returns true. Returns whether anything
  /// was known about any of them.
  template <typename Which>
  bool Forget(Which which) {
    const auto matches = [&](const auto& entry) { return which(entry.first); };
    return std::erase_if(seen_alive_, matches) + std::erase_if(proven_dead_, matches) +
               std::erase_if(stopped_, matches) + std::erase_if(detected_, matches) +
               std::erase_if(ends_, matches) >
           0;
  }

 private:
  using Sessions = std::map<NodeId, std::vector<SessionId>>;
  static bool Remember(std::vector<SessionId>& sessions, const SessionRef& session);
  static bool Contains(const Sessions& sessions, const SessionRef& session);

  Sessions seen_alive_;
  Sessions proven_dead_;
  Sessions stopped_;
  std::map<NodeId, std::pair<SessionId, Duration>> detected_;  ///< the last that had a `detect`
  std::map<NodeId, LeaseEnd> ends_;
};

}  // namespace baton::core
