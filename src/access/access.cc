#include "access/access.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "base/escape.h"

namespace baton::access {
namespace {

struct Row {
  std::string_view method;
  Role needs;
};

constexpr Row kTable[] = {
    {"GetStatus", Role::kRead},          {"ListShards", Role::kRead},
    {"DescribeShard", Role::kRead},      {"ListEvents", Role::kRead},
    {"WatchEvents", Role::kRead},        {"PlanRebalance", Role::kRead},
    {"Diagnose", Role::kRead},           {"TransferShard", Role::kOperate},
    {"RetryShard", Role::kOperate},      {"DrainNode", Role::kOperate},
    {"UndrainNode", Role::kOperate},     {"ApplyRebalance", Role::kOperate},
    {"CancelRebalance", Role::kOperate}, {"PauseBalance", Role::kOperate},
    {"ResumeBalance", Role::kOperate},   {"SetGroupSetting", Role::kOperate},
};

constexpr std::size_t kLongestPeer = 128;

}  // namespace

const char* ToString(Role role) {
  switch (role) {
    case Role::kRead: return "read";
    case Role::kOperate: return "operate";
  }
  return "unknown";
}

std::optional<Role> RoleNamed(std::string_view word) {
  for (const Role role : {Role::kRead, Role::kOperate}) {
    if (word == ToString(role)) return role;
  }
  return std::nullopt;
}

std::optional<Role> RoleFor(std::string_view method) {
  for (const Row& row : kTable) {
    if (row.method == method) return row.needs;
  }
  return std::nullopt;
}

std::vector<std::string_view> MethodsWithRoles() {
  std::vector<std::string_view> methods;
  for (const Row& row : kTable) methods.push_back(row.method);
  return methods;
}

std::string NameOf(const Caller& caller) {
  if (caller.user) return fmt::format("uid {}", *caller.user);
  return OneLine(caller.peer, kLongestPeer);
}

void Access::SetRules(std::vector<Rule> rules) {
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
}

Role Access::RoleOf(const Caller& caller) const {
  if (caller.user) {
    const std::lock_guard lock(mutex_);
    for (const Rule& rule : rules_) {
      if (rule.user == *caller.user) return rule.role;
    }
    if (*caller.user == 0 || *caller.user == geteuid()) return Role::kOperate;
  }
  return IsLocalPeer(caller.peer) ? defaults_.this_host : defaults_.other_hosts;
}

std::optional<std::string> Access::Refusal(const Caller& caller, Role needed) const {
  if (RoleOf(caller) >= needed) return std::nullopt;
  std::string line =
      fmt::format("{} may not do this: it needs the role {}", NameOf(caller), ToString(needed));
  if (!IsLocalPeer(caller.peer)) {
    line += "; run batonctl on the node's own host, or start the node with --allow-remote-admin";
  } else if (caller.user) {
    line += fmt::format(
        "; root and uid {}, the node's own user, have it unless --access says "
        "otherwise, and it gives it to others",
        geteuid());
  } else {
    line +=
        ", and the kernel has not said which user calls; try again in 2 s, and if this stays, "
        "see docs/security.md";
  }
  return line;
}

}  // namespace baton::access
