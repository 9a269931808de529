// Access: who may do what on the ports of a node.
//
// Each method of the gRPC services and each path of HTTP needs a role (DemandOf, DemandOfPath). The
// first of these that applies gives the caller its role:
//   1. The token that the caller sends. If the token is not valid, every call is refused. There are
//      exceptions, which ignore tokens: HTTP paths that need kNone or kProbe, gRPC's health checks
//      and reflection, and the sidecar.
//   2. The first rule for the name in the caller's certificate.
//   3. The first rule for the caller's user, or for a group of this user (UserGroups).
//   4. Root and the user of this process have kAdmin; both can read this process's memory anyway.
//   5. Rules::this_host or Rules::other_hosts; if it is unset, the Defaults.
// If a caller's certificate has expired since the caller connected, the caller has kNone. Then
// every call is refused, except HTTP paths that need kNone, and gRPC's health checks and
// reflection. If it is not known which user of this host calls, the caller may do only what every
// user of this host may do. If it is not known in which groups a user is, the user may do only what
// the rules would allow whatever the user's groups are.
//
// Callers without the role kOperate have limits (CallLimits), so that operators always get through.
//
// Thread-safe; waits only for short locks, except SetRules and AwaitGroups.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/call_limits.h"
#include "access/callers.h"
#include "access/tokens.h"
#include "access/user_groups.h"

namespace baton::access {

enum class Role : std::uint8_t {
  kNone,   ///< ask whether the node lives and is ready
  kProbe,  ///< as kNone; ask whether the node leads a shard; ask for the caller's own role and name
  kRead,   ///< as kProbe; read the group's state, routes and metrics
  kOperate,  ///< as kRead; move shards, drain nodes, pause balance
  kLead,     ///< as kRead; attach to the sidecar as the application that leads
  kAdmin,    ///< everything, also release shards and change failover settings
};
inline constexpr Role kRoles[] = {Role::kNone,    Role::kProbe, Role::kRead,
                                  Role::kOperate, Role::kLead,  Role::kAdmin};
/// "none", "probe", "read", "operate", "lead", "admin".
const char* ToString(Role role);
/// Reads the words of ToString. nullopt: another word.
std::optional<Role> RoleNamed(std::string_view word);
/// Whether `has` includes `needed`. kAdmin includes all; kOperate and kLead don't include each
/// other.
bool Includes(Role has, Role needed);

/// The demand of a method or path on its caller.
struct Demand {
  Role role = Role::kRead;  ///< the role that the caller needs
  /// The limit for callers without the role kOperate. Unset: no limit, because the call is a probe
  /// or the sidecar's Attach, or because only callers with kOperate may make it.
  std::optional<CallLimits::Kind> limit = {};

  bool operator==(const Demand&) const = default;
};

/// Returns what a method demands, from the table in access.cc. `method`: the name without the
/// service, such as "GetStatus"; no two methods have the same name. nullopt: the method has no row,
/// so nobody may call it. gRPC's own services for health checks and reflection check no caller;
/// their rows have kNone.
std::optional<Demand> DemandOf(std::string_view method);
/// Returns the role that a method demands; nullopt as in DemandOf.
std::optional<Role> RoleFor(std::string_view method);
/// Returns the full names of the methods in the table, such as "baton.v1.AdminService/GetStatus".
std::vector<std::string> MethodsWithRoles();
/// Returns what a path of the HTTP server demands. `path` has no query. nullopt: there is no such
/// path. Then demand kUnknownPath, so that callers who may not read don't learn which paths exist.
/// A result does not mean that the path exists: some rows stand for all paths with the same
/// beginning. The HTTP server ignores tokens for paths that need kProbe, and identifies no caller
/// for paths that need kNone.
std::optional<Demand> DemandOfPath(std::string_view path);
/// The demand for paths without a row.
inline constexpr Demand kUnknownPath{.role = Role::kRead, .limit = CallLimits::Kind::kRead};
/// The paths /shards/{s}/leader, by which load balancers find a shard's leader.
inline constexpr std::string_view kLeaderPathPrefix = "/shards/";
inline constexpr std::string_view kLeaderPathSuffix = "/leader";

/// Why a call is refused.
struct Refused {
  enum class Why : std::uint8_t {
    kToken,        ///< the caller sent a token that is not valid
    kCertificate,  ///< the caller's certificate has expired since the caller connected
    kRole,         ///< the caller lacks the role
    /// The caller lacks the role, but its user or groups are not known yet: try again. With
    /// Tokens::kIgnored, a caller whose user is not known gets kRole.
    kUnknown,
    kTooMany,    ///< the caller has the role, but calls too often
    kNoChanges,  ///< nobody makes changes at this server, whatever the caller's role
  };
  Why why = Why::kRole;
  std::string line;  ///< one line: why, and what to do
};

/// A part of Refused::line if the call is refused because the user's groups are not known yet.
inline constexpr std::string_view kGroupsNotKnown =
    "this host has not said in which groups the user is";
/// A part of Refused::line if the call is refused because it is not known yet which user of this
/// host calls.
inline constexpr std::string_view kUserNotKnown = "the kernel has not said which user calls";

struct Rule {
  enum class For : std::uint8_t { kUser, kGroup };

  id_t id = 0;  ///< the number of a user or of a group
  Role role = Role::kRead;
  For who = For::kUser;

  bool operator==(const Rule&) const = default;
};

struct CertificateRule {
  std::string name =
      {};  ///< a name, or a pattern with "*" as its last byte (FitsCertificatePattern)
  Role role = Role::kRead;

  bool operator==(const CertificateRule&) const = default;
};

struct TokenRule {
  std::string name = {};  ///< REQUIRES: not empty, unique among the rules; not checked
  Digest sha256 = {};     ///< the token's SHA-256; REQUIRES: unique among the rules; not checked
  Role role = Role::kRead;
  /// The token is not valid from this time on. Unset: valid for ever.
  std::optional<std::chrono::system_clock::time_point> until = {};

  bool operator==(const TokenRule&) const = default;
};

/// How a caller identifies itself.
struct Shown {
  std::vector<std::string> authorization = {};  ///< values of its Authorization headers, any bytes
  bool secure = false;                          ///< whether the connection has TLS
};

/// An operator's rules.
struct Rules {
  std::vector<Rule> users = {};  ///< the first rule for the user or one of its groups decides
  std::vector<CertificateRule> certificates = {};  ///< the first rule for the name decides
  std::vector<TokenRule> tokens = {};
  std::optional<Role> this_host = {};    ///< replaces Access::Defaults::this_host, if set
  std::optional<Role> other_hosts = {};  ///< replaces Defaults::other_hosts, if set

  bool operator==(const Rules&) const = default;
};

class Access {
 public:
  /// Whether tokens are read from the header `authorization`. kIgnored is for programs that embed a
  /// node: their server may use this header for services of its own. With kIgnored, refused reads
  /// are not logged.
  enum class Tokens : std::uint8_t { kRead, kIgnored };
  struct Defaults {
    Role this_host = Role::kRead;    ///< for this host's users without a rule
    Role other_hosts = Role::kRead;  ///< for callers on other hosts
    Tokens tokens = Tokens::kRead;
  };

  /// Begins without rules. `ask`: how to look up a user's groups; see UserGroups.
  explicit Access(Defaults defaults, UserGroups::Ask ask = GroupsInDatabase)
      : defaults_(defaults), groups_(std::move(ask)) {}

  /// Replaces the rules. Later calls use the new rules, also for a Caller that Identified returned
  /// before. Only one thread may call it at a time. If there are rules for groups, it first asks
  /// the host's user database for the groups of root and of this process's user. It waits for the
  /// answers or errors, which may take seconds.
  void SetRules(Rules rules);
  /// From now on, RefuseRead calls `told` with each refusal that it returns, and Tell calls `told`
  /// with its own arguments. Refusal does not call `told`. Without TellRefusals, Tell does nothing.
  /// `what`: the method or path, any bytes. `told` may be called on any thread. REQUIRES: `told`
  /// doesn't wait; TellRefusals is called before other threads use this object.
  using Told =
      std::function<void(const Caller& caller, std::string_view what, const Refused& refused)>;
  void TellRefusals(Told told) { told_ = std::move(told); }
  void Tell(const Caller& caller, std::string_view what, const Refused& refused) const {
    if (told_) told_(caller, what, refused);
  }
  /// Says that this user will call soon. If there are rules for groups, begins to look up the
  /// user's groups, unless the last answer is fresh (UserGroups). Does not wait.
  void Expect(uid_t user) const;
  /// Waits until all lookups of groups so far are answered. For tests.
  void AwaitGroups() const { groups_.AwaitAnswers(); }

  /// Returns `caller` with `token` set if the caller sent a valid token, or with `bad_token` set if
  /// it sent a token that is not valid. A token is valid only if it came over TLS or from this host
  /// (IsLocalPeer), because others can read a token that crosses the network without TLS. The token
  /// must also have a rule whose `until` is after `now`, and 1 to kLongestToken bytes. If the
  /// caller sent two tokens, neither is valid. Headers with another scheme than Bearer don't count.
  /// With Tokens::kIgnored, `caller` is returned unchanged.
  Caller Identified(Caller caller, const Shown& shown,
                    std::chrono::system_clock::time_point now) const;
  /// The caller's role. If the caller's token is not valid, the role is kProbe, or kNone if the
  /// caller would have kNone without the token. But Refusal refuses every call of this caller,
  /// whatever its role. If the caller's certificate has expired, the role is kNone.
  Role RoleOf(const Caller& caller) const;
  /// Returns why the call is refused. nullopt: the call is allowed. Then the caller's role includes
  /// `needed`, and if it has a token or a certificate, its token and its certificate were valid
  /// when the Caller was made (Identified, and Certify in callers.h). Refusal does not check again
  /// whether they have expired. So make a new Caller for each call. Never returns kTooMany or
  /// kNoChanges.
  std::optional<Refused> Refusal(const Caller& caller, Role needed) const;
  /// As Refusal, for a call that only reads. If the demand has a limit, it also counts this call,
  /// and refuses it with kTooMany above the limit (CallLimits). It does not count calls that
  /// Refusal refuses, nor calls of callers with kOperate. Unless Tokens::kIgnored is set, logs
  /// refusals (`read refused`): at most one line a second for all callers together. The line has
  /// the number of earlier refusals without a line. `what`: the method or path, any bytes.
  std::optional<Refused> RefuseRead(const Caller& caller, const Demand& demand,
                                    std::string_view what) const;
  /// Whether this caller, whose certificate is not known yet, may begin a TLS handshake now. True:
  /// the handshake is counted against the limit. False: it is added to limited(kHandshake). The
  /// limit (CallLimits) is the same for all roles, because the role of most callers is not known
  /// before the handshake.
  bool TakeHandshake(const Caller& caller) const;
  /// How often RefuseRead has returned kTooMany for this kind so far. For kHandshake: how often
  /// TakeHandshake has returned false.
  std::uint64_t limited(CallLimits::Kind kind) const;

 private:
  // REQUIRES, up to RoleOfUser and for RoleWithout: mutex_ is held.
  Role RoleOfHost(bool local) const;
  std::optional<Role> RoleOfCertificate(const std::string& name) const;
  /// nullopt: there is no rule for this token any more.
  std::optional<Role> RoleOfToken(const std::string& name) const;
  Role RoleOfUser(uid_t user) const;
  bool LacksGroupsOf(const Caller& caller) const;
  /// Why the caller's token is not valid; empty: it is valid, or there is none.
  std::string TroubleWithToken(const Caller& caller) const;
  /// Whether the caller is on this host, has no rule for its certificate, and its user is not
  /// known.
  bool IsUnknownUser(const Caller& caller) const;
  /// The role of a caller that has no rule for its certificate and whose user is not known, on this
  /// host (`local`) or on another.
  Role RoleWithout(bool local) const;
  std::optional<Refused> WhyNot(const Caller& caller, const Demand& demand) const;

  const Defaults defaults_;
  Told told_;
  mutable std::mutex mutex_;  // guards what follows
  Rules rules_;
  bool by_groups_ = false;     // there are rules for groups
  mutable UserGroups groups_;  // has a lock of its own
  mutable std::chrono::steady_clock::time_point quiet_until_{};
  mutable std::uint64_t not_logged_ = 0;

  mutable std::mutex limits_mutex_;  // guards what follows; never held together with mutex_
  mutable CallLimits limits_;
  mutable std::array<std::uint64_t, kCallKinds.size()> limited_{};
};

/// Decides about the calls of a gRPC server.
class Gate {
 public:
  /// `callers`: those of the server; null: no caller's user is known. `no_changes`: why this server
  /// makes no changes; empty: it makes changes. REQUIRES: `access` is not null; not checked.
  Gate(std::shared_ptr<const Access> access, std::shared_ptr<const Callers> callers,
       std::string no_changes = {})
      : access_(std::move(access)),
        callers_(std::move(callers)),
        no_changes_(std::move(no_changes)) {}

  /// Returns the caller, with the user of its connection and with its token. Checks whether the
  /// token and the certificate have expired by now. `peer`: the result of
  /// grpc::ServerContext::peer. `certificate`: that of the connection.
  Caller CallerAt(std::string peer, const ClientCertificate& certificate = {},
                  const Shown& shown = {}) const;
  Role RoleOf(const Caller& caller) const { return access_->RoleOf(caller); }
  /// Access::Refusal for the role that this method needs. A method without a row is refused with
  /// kRole. If the server makes no changes, it refuses every method that needs kOperate or kAdmin.
  /// Then a caller that may read gets kNoChanges with the line `no_changes`. A caller that may not
  /// read gets the refusal of a call that needs kRead.
  std::optional<Refused> Refusal(const Caller& caller, std::string_view method) const;
  /// Access::RefuseRead for the demand of this method. A method without a row is refused with
  /// kRole, but this refusal is neither logged nor passed to the function of TellRefusals.
  std::optional<Refused> RefuseRead(const Caller& caller, std::string_view method) const;

 private:
  std::shared_ptr<const Access> access_;
  std::shared_ptr<const Callers> callers_;
  std::string no_changes_;
};

}  // namespace baton::access
