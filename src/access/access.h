// Access: who may do what.
//
// Each gRPC method and each HTTP path needs a role (RoleFor). A caller has one:
//   1. that of the first rule which fits the caller's user;
//   2. else kAdmin, if that is root or the user of this process: both can read its memory anyway;
//   3. else what the defaults give to its host.
// Reading is not restricted yet, so the least role is kRead.
//
// Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/caller.h"

namespace baton::access {

enum class Role : std::uint8_t {
  kProbe,    ///< ask whether the process lives
  kRead,     ///< read the group's state
  kLead,     ///< read, and attach as the application that leads
  kOperate,  ///< read, and change what leads what
  kAdmin,    ///< everything
};
/// "probe", "read", "lead", "operate", "admin".
const char* ToString(Role role);
/// nullopt: none of these words.
std::optional<Role> RoleNamed(std::string_view word);

/// Whether a caller with the role `has` may do what needs the role `needs`.
bool Includes(Role has, Role needs);

/// The role that a gRPC method ("/baton.v1.AdminService/DrainNode") or an HTTP path needs, as the
/// table in access.cc says. nullopt: it has no row, so nobody may use it.
std::optional<Role> RoleFor(std::string_view method_or_path);

/// All names in the table.
std::vector<std::string_view> NamesWithRoles();

/// Gives a role to a user, or to the members of a group of this host.
struct Rule {
  enum class Kind : std::uint8_t { kUser, kGroup };
  Kind kind = Kind::kUser;
  uid_t id = 0;  ///< of the user or group
  Role role = Role::kRead;

  bool operator==(const Rule&) const = default;
};

class Access {
 public:
  struct Defaults {
    Role this_host = Role::kRead;    ///< of this host's users that have no rule, or are not known
    Role other_hosts = Role::kRead;  ///< of callers from elsewhere
  };

  explicit Access(Defaults defaults) : defaults_(defaults) {}

  void SetRules(std::vector<Rule> rules);

  /// May read the host's user database, if there are rules for groups.
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
