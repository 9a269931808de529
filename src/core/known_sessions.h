// KnownSessions: what a view remembers of sessions that it saw: whether it saw them alive, how each
// node's last one ended, and which were proven dead.
//
// Pure and single-threaded: owned by a View.
#pragma once

#include <map>
#include <vector>

#include "base/clock.h"
#include "base/facts.h"
#include "base/writes.h"

namespace baton::core {

/// When a node's last session ended, as the watch showed it.
struct LeaseEnd {
  Revision revision;
  TimePoint seen_at;
  Duration ttl;
};

class KnownSessions {
 public:
  void NoteAlive(const SessionRef& session) { Remember(seen_alive_[session.node], session); }
  /// Whether that is news.
  bool NoteProvenDead(const SessionRef& session) {
    return Remember(proven_dead_[session.node], session);
  }
  void NoteEnd(const NodeId& node, const LeaseEnd& end) { ends_[node] = end; }
  void ForgetEnd(const NodeId& node) { ends_.erase(node); }
  /// Of the last 8 of each node.
  bool SeenAlive(const SessionRef& session) const { return Contains(seen_alive_, session); }
  bool ProvenDead(const SessionRef& session) const { return Contains(proven_dead_, session); }
  /// Null: the view saw no end, or a read showed it.
  const LeaseEnd* LastEnd(const NodeId& node) const;
  /// Forgets the nodes for which `which` returns true.
  template <typename Which>
  void Forget(Which which) {
    const auto matches = [&](const auto& entry) { return which(entry.first); };
    std::erase_if(seen_alive_, matches);
    std::erase_if(proven_dead_, matches);
    std::erase_if(ends_, matches);
  }

 private:
  using Sessions = std::map<NodeId, std::vector<SessionId>>;
  static bool Remember(std::vector<SessionId>& sessions, const SessionRef& session);
  static bool Contains(const Sessions& sessions, const SessionRef& session);

  Sessions seen_alive_;
  Sessions proven_dead_;
  std::map<NodeId, LeaseEnd> ends_;
};

}  // namespace baton::core
