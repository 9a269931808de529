#include "core/known_sessions.h"

#include <algorithm>
#include <set>
#include <variant>

namespace baton::core {
namespace {

// per node: a node rarely restarts more often during one failover
constexpr std::size_t kSessionsRemembered = 8;

}  // namespace

// Facts of a message may have any order.
std::vector<const DeathFact*> ProvenDeaths(const std::vector<Fact>& facts) {
  std::vector<const DeathFact*> deaths;
  for (const Fact& fact : facts) {
    const auto* death = std::get_if<DeathFact>(&fact);
    if (death != nullptr && death->present && death->session.value != 0) deaths.push_back(death);
  }
  if (deaths.empty()) return deaths;
  std::set<std::pair<Revision, NodeId>> ended;
  for (const Fact& fact : facts) {
    const auto* member = std::get_if<MemberFact>(&fact);
    if (member != nullptr && !member->present) ended.emplace(member->revision, member->node);
  }
  std::erase_if(deaths, [&](const DeathFact* death) {
    return !ended.contains({death->revision, death->node});
  });
  return deaths;
}

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
