#include "access/access.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

namespace baton::access {
namespace {

struct Row {
  std::string_view name;
  Role needs;
};

constexpr Row kTable[] = {
    {"/grpc.health.v1.Health/Check", Role::kProbe},
    {"/grpc.health.v1.Health/Watch", Role::kProbe},
    {"/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", Role::kRead},
    {"/baton.v1.AdminService/GetStatus", Role::kRead},
    {"/baton.v1.AdminService/ListShards", Role::kRead},
    {"/baton.v1.AdminService/DescribeShard", Role::kRead},
    {"/baton.v1.AdminService/ListEvents", Role::kRead},
    {"/baton.v1.AdminService/WatchEvents", Role::kRead},
    {"/baton.v1.AdminService/PlanRebalance", Role::kRead},
    {"/baton.v1.AdminService/Diagnose", Role::kRead},
    {"/baton.v1.AdminService/TransferShard", Role::kOperate},
    {"/baton.v1.AdminService/RetryShard", Role::kOperate},
    {"/baton.v1.AdminService/DrainNode", Role::kOperate},
    {"/baton.v1.AdminService/UndrainNode", Role::kOperate},
    {"/baton.v1.AdminService/ApplyRebalance", Role::kOperate},
    {"/baton.v1.AdminService/CancelRebalance", Role::kOperate},
    {"/baton.v1.AdminService/PauseBalance", Role::kOperate},
    {"/baton.v1.AdminService/ResumeBalance", Role::kOperate},
    {"/baton.v1.AdminService/SetGroupSetting", Role::kOperate},
    {"/baton.v1.RoutingService/Lookup", Role::kRead},
    {"/baton.v1.RoutingService/WatchRoutes", Role::kRead},
    {"/baton.v1.SidecarService/Attach", Role::kLead},
    {"/livez", Role::kProbe},
    {"/readyz", Role::kProbe},
    {"/shards/{s}/leader", Role::kProbe},
    {"/", Role::kRead},
    {"/metrics", Role::kRead},
    {"/metrics/shards", Role::kRead},
    {"/v1/shards", Role::kRead},
    {"/v1/shards/{s}", Role::kRead},
    {"/v1/lookup", Role::kRead},
    {"/v1/routes", Role::kRead},
    {"/v1/events", Role::kRead},
    {"/v1/status", Role::kRead},
    {"/v1/overview", Role::kRead},
};

constexpr Role kRoles[] = {Role::kProbe, Role::kRead, Role::kLead, Role::kOperate, Role::kAdmin};
constexpr int kMostGroups = 1024;

bool IsMember(uid_t user, gid_t group) {
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return false;
  }
  std::array<gid_t, kMostGroups> groups{};
  int count = kMostGroups;
  if (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) count = kMostGroups;
  return std::find(groups.begin(), groups.begin() + count, group) != groups.begin() + count;
}

bool Fits(const Rule& rule, uid_t user) {
  return rule.kind == Rule::Kind::kUser ? rule.id == user : IsMember(user, rule.id);
}

}  // namespace

const char* ToString(Role role) {
  switch (role) {
    case Role::kProbe: return "probe";
    case Role::kRead: return "read";
    case Role::kLead: return "lead";
    case Role::kOperate: return "operate";
    case Role::kAdmin: return "admin";
  }
  return "unknown";
}

std::optional<Role> RoleNamed(std::string_view word) {
  for (const Role role : kRoles) {
    if (word == ToString(role)) return role;
  }
  return std::nullopt;
}

bool Includes(Role has, Role needs) {
  if (has == needs || has == Role::kAdmin || needs == Role::kProbe) return true;
  return needs == Role::kRead && has != Role::kProbe;
}

std::optional<Role> RoleFor(std::string_view method_or_path) {
  for (const Row& row : kTable) {
    if (row.name == method_or_path) return row.needs;
  }
  return std::nullopt;
}

std::vector<std::string_view> NamesWithRoles() {
  std::vector<std::string_view> names;
  for (const Row& row : kTable) names.push_back(row.name);
  return names;
}

void Access::SetRules(std::vector<Rule> rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
}

Role Access::RoleOf(const Caller& caller) const {
  if (caller.user) {
    std::vector<Rule> rules;
    {
      const std::lock_guard lock(mutex_);
      rules = rules_;
    }
    for (const Rule& rule : rules) {
      if (Fits(rule, *caller.user)) return rule.role;
    }
    if (*caller.user == 0 || *caller.user == geteuid()) return Role::kAdmin;
  }
  return caller.local ? defaults_.this_host : defaults_.other_hosts;
}

std::optional<std::string> Access::Refusal(const Caller& caller, Role needed) const {
  const Role has = RoleOf(caller);
  if (Includes(has, needed)) return std::nullopt;
  const std::string start =
      fmt::format("{} may not do this: it needs the role {}", NameOf(caller), ToString(needed));
  if (!caller.local) {
    return start + (needed == Role::kOperate
                        ? ", which callers from other hosts don't have; run batonctl on the node's "
                          "host, or start the node with --allow-remote-admin"
                        : ", which callers from other hosts don't have");
  }
  if (!caller.user) {
    return start +
           ", and this host does not say which user calls; use a unix socket, or start "
           "the node with --allow-remote-admin";
  }
  return start + fmt::format(
                     "; root and uid {}, the node's own user, have it, and --access gives "
                     "it to others",
                     geteuid());
}

}  // namespace baton::access
