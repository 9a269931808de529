// Access: who may do what with the admin service.
//
// Each of its methods needs a role (RoleFor). A caller has one:
//   1. that of the first rule for the caller's user;
//   2. else kOperate, if that is root or the user of this process: both can read its memory anyway;
//   3. else what the defaults give to its host.
// Reading is not restricted, so the least role is kRead.
//
// Thread-safe; waits only for a short lock.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/callers.h"

namespace baton::access {

enum class Role : std::uint8_t {
  kRead,     ///< read the group's state
  kOperate,  ///< read, and change what leads what
};
/// "read", "operate".
const char* ToString(Role role);
/// nullopt: none of these words.
std::optional<Role> RoleNamed(std::string_view word);

/// The role that a method of baton.v1.AdminService needs, as the table in access.cc says. nullopt:
/// it has no row, so nobody may call it.
std::optional<Role> RoleFor(std::string_view method);

/// The methods in the table.
std::vector<std::string_view> MethodsWithRoles();

struct Caller {
  std::string peer;           ///< as grpc::ServerContext::peer names it
  std::optional<uid_t> user;  ///< what Callers knows; unset: not known, or on another host
};
/// "uid 1000", or else the peer. One line.
std::string NameOf(const Caller& caller);

struct Rule {
  uid_t user = 0;
  Role role = Role::kRead;

  bool operator==(const Rule&) const = default;
};

class Access {
 public:
  struct Defaults {
    Role this_host = Role::kRead;    ///< of this host's users without a rule, or not known
    Role other_hosts = Role::kRead;  ///< of callers from elsewhere
  };

  explicit Access(Defaults defaults) : defaults_(defaults) {}

  void SetRules(std::vector<Rule> rules);

  Role RoleOf(const Caller& caller) const;
  /// nullopt: the caller may do what needs this role. Otherwise one line that says why not, and
  /// what to do.
  std::optional<std::string> Refusal(const Caller& caller, Role needed) const;

 private:
  const Defaults defaults_;
  mutable std::mutex mutex_;
  std::vector<Rule> rules_;  ///< guarded by mutex_
};

}  // namespace baton::access
