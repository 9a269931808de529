#include "app/ctl/others.h"

#include <algorithm>
#include <map>
#include <thread>
#include <utility>

#include "app/ctl/client.h"
#include "base/endpoint.h"
#include "core/departures.h"

namespace baton::app {
namespace {

using runtime::DepartedMember;
using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;

// The address is another's text: it must not choose a resolver of gRPC or a socket of this host.
bool Asks(const MemberStatus& member, const NodeStatus& status) {
  return member.fact.Live() && member.fact.node != status.node &&
         IsPeerEndpoint(member.fact.address);
}

/// The gRPC target of a member that Asks allows.
std::string TargetOf(const MemberStatus& member, const ClientTls& tls) {
  const std::string& address = member.fact.address;
  return DnsTarget(tls.on() ? address : LocalhostAsAddress(address));
}

/// Another process may have got the address meanwhile.
bool Is(const NodeStatus& answer, const MemberStatus& member, const NodeStatus& status) {
  return answer.node == member.fact.node && answer.group == status.group;
}

// Two nodes see the end of one session at slightly different times, and perhaps only one of them
// how it ended.
void Merge(const DepartedMember& seen, std::map<NodeId, DepartedMember>* last) {
  const auto [known, added] = last->emplace(seen.node, seen);
  if (added) return;
  DepartedMember& kept = known->second;
  if (seen.session != kept.session) {
    // A node that missed how it ended may have noticed an earlier end late.
    const bool better =
        seen.why.has_value() != kept.why.has_value() ? seen.why.has_value() : seen.age < kept.age;
    if (better) kept = seen;
    return;
  }
  kept.age = std::max(kept.age, seen.age);
  if (!kept.why) kept.why = seen.why;
  kept.led = std::max(kept.led, seen.led);
  kept.back = kept.back || seen.back;
}

}  // namespace

OthersAnswers AskOthers(const NodeStatus& status, const ClientTls& tls, TimePoint deadline) {
  deadline = std::min(deadline, BootClock::now() + kOthersPatience);
  std::vector<const MemberStatus*> asked;
  OthersAnswers answers;
  for (const MemberStatus& member : status.members) {
    if (!Asks(member, status)) continue;
    if (asked.size() == kMaxAsked) {
      answers.silent.push_back(member.fact.node);
    } else {
      asked.push_back(&member);
    }
  }
  std::vector<std::optional<NodeStatus>> heard(asked.size());
  {
    std::vector<std::jthread> threads;
    threads.reserve(asked.size());
    for (std::size_t i = 0; i < asked.size(); ++i) {
      threads.emplace_back([&, i] {
        AdminClient client(TargetOf(*asked[i], tls), tls, AdminClient::Answers::kShort);
        auto answer = client.GetOwnWords(deadline);
        if (answer && Is(answer.value(), *asked[i], status)) heard[i] = std::move(answer).value();
      });
    }
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (heard[i]) {
      answers.answered.push_back(*std::move(heard[i]));
    } else {
      answers.silent.push_back(asked[i]->fact.node);
    }
  }
  return answers;
}

void AddDepartures(const std::vector<NodeStatus>& others, NodeStatus* status) {
  std::map<NodeId, DepartedMember> last;
  for (const DepartedMember& departed : status->departed) last.emplace(departed.node, departed);
  for (const NodeStatus& other : others) {
    for (const DepartedMember& departed : other.departed) Merge(departed, &last);
  }
  for (const MemberStatus& member : status->members) {
    const auto found = last.find(member.fact.node);
    if (found != last.end() && member.fact.Live()) found->second.back = true;
  }
  status->departed.clear();
  for (auto& [node, departed] : last) status->departed.push_back(std::move(departed));
  std::stable_sort(status->departed.begin(), status->departed.end(),
                   [](const auto& a, const auto& b) { return a.age < b.age; });
  if (status->departed.size() > core::Departures::kMaxKept) {
    status->departed.resize(core::Departures::kMaxKept);
  }
}

std::optional<ShardStatus> AskLeader(const NodeStatus& group, const ShardStatus& shard,
                                     const ClientTls& tls, TimePoint deadline) {
  deadline = std::min(deadline, BootClock::now() + kOthersPatience);
  for (const MemberStatus& member : group.members) {
    if (member.fact.node != shard.leader || !Asks(member, group)) continue;
    AdminClient client(TargetOf(member, tls), tls, AdminClient::Answers::kShort);
    auto answer = client.DescribeShard(shard.shard, deadline);
    if (!answer || answer.value().group != group.group || answer.value().shards.empty()) break;
    ShardStatus& told = answer.value().shards.front();
    if (told.leader == shard.leader && told.term == shard.term) return std::move(told);
    break;
  }
  return std::nullopt;
}

}  // namespace baton::app
