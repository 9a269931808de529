#include "core/known_sessions.h"

#include <algorithm>

namespace baton::core {
namespace {

// per node: a node rarely restarts more often during one failover
constexpr std::size_t kSessionsRemembered = 8;

}  // namespace

bool KnownSessions::Remember(std::vector<SessionId>& sessions, const SessionRef& session) {
  if (std::find(sessions.begin(), sessions.end(), session.session) != sessions.end()) return false;
  if (sessions.size() == kSessionsRemembered) sessions.erase(sessions.begin());
  sessions.push_back(session.session);
  return true;
}

bool KnownSessions::Contains(const Sessions& sessions, const SessionRef& session) {
  const auto found = sessions.find(session.node);
  if (found == sessions.end()) return false;
  const auto& of_node = found->second;
  return std::find(of_node.begin(), of_node.end(), session.session) != of_node.end();
}

void KnownSessions::NoteEnd(const SessionRef& session, LeaseEnd end) {
  const auto found = detected_.find(session.node);
  const bool measured = found != detected_.end() && found->second.first == session.session;
  if (measured) end.detect = found->second.second;
  ends_[session.node] = end;
}

const LeaseEnd* KnownSessions::LastEnd(const NodeId& node) const {
  const auto found = ends_.find(node);
  return found == ends_.end() ? nullptr : &found->second;
}

}  // namespace baton::core
