// Access: who may do what on the ports of a node.
//
// Each gRPC method and each HTTP path needs a role (DemandOf, DemandOfPath). A caller gets its role
// from the first of these that applies:
//   1. The token that the caller sends. If the token is not valid, the call is refused. Some calls
//      ignore tokens: HTTP paths that need kNone or kProbe, gRPC's health checks and reflection,
//      and the sidecar.
//   2. The first rule for the name in the caller's certificate.
//   3. The first rule for the caller's user, or for a group of this user (UserGroups).
//   4. If the caller is root or the user of this process: kAdmin.
//   5. Rules::this_host for callers on this host, Rules::other_hosts for all others. If the rules
//      don't set it, Access::Defaults has it.
// If a caller's certificate has expired since the caller connected, the caller has kNone. Then
// every call is refused, except HTTP paths that need kNone, and gRPC's health checks and
// reflection. If the user of a caller on this host is not known, the caller may do only what every
// user of this host may do. If a user's groups are not known, the user may do only what the rules
// allow for all possible groups.
//
// CallLimits bounds the calls of callers without the role kOperate, so that operators get through.
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
  kAdmin,    ///< everything, also release shards, and change failover, placement and nodes
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

/// The role that a method or a path needs, and the limit for its calls.
struct Demand {
  Role role = Role::kRead;  ///< the role that the caller needs
  /// The limit for callers without the role kOperate. Unset: the calls have no limit. This is so
  /// for probes, for the sidecar's Attach, and for calls that need kOperate or kAdmin.
  std::optional<CallLimits::Kind> limit = {};

  bool operator==(const Demand&) const = default;
};

/// Returns the demand of a gRPC method. `method`: the name without the service, such as
/// "GetStatus". No two methods have the same name. nullopt: the table in access.cc has no row for
/// the method, so nobody may call it. gRPC's own services for health checks and reflection check no
/// caller; their methods have kNone.
std::optional<Demand> DemandOf(std::string_view method);
/// Returns the role of DemandOf; nullopt as in DemandOf.
std::optional<Role> RoleFor(std::string_view method);
/// Returns the full names of the methods in the table, such as "baton.v1.AdminService/GetStatus".
std::vector<std::string> MethodsWithRoles();
/// Returns the demand of an HTTP path. `path` has no query. nullopt: no such path exists; use
/// kUnknownPath instead, so that callers who may not read don't learn which paths exist. A result
/// does not prove that the path exists, because some rows stand for all paths with the same
/// beginning. For paths that need kProbe, the HTTP server ignores tokens. For paths that need
/// kNone, it checks no caller.
std::optional<Demand> DemandOfPath(std::string_view path);
/// The demand to use for a path if DemandOfPath returns nullopt.
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
    kNoChanges,  ///< this server makes no changes for any caller
  };
  Why why = Why::kRole;
  std::string line;  ///< one line: why, and what to do
};

/// Refused::line contains this text if `why` is kUnknown because the caller's groups are not known.
inline constexpr std::string_view kGroupsNotKnown =
    "this host has not said in which groups the user is";
/// Refused::line contains this text if `why` is kUnknown because the caller's user is not known.
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
  std::string name = {};  ///< REQUIRES (not checked): not empty, unique among the rules
  Digest sha256 = {};     ///< the token's SHA-256. REQUIRES (not checked): unique among the rules
  Role role = Role::kRead;
  /// The token is not valid from this time on. Unset: valid for ever.
  std::optional<std::chrono::system_clock::time_point> until = {};

  bool operator==(const TokenRule&) const = default;
};

/// The tokens of one call.
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
  /// Whether the header `authorization` is read. kIgnored is for programs that embed a node,
  /// because their services may use this header themselves. With kIgnored, refused reads are not
  /// logged.
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
  /// before. If there are rules for groups, SetRules first asks the host's user database for the
  /// groups of root and of this process's user. It waits for both answers, which may take seconds.
  /// REQUIRES (not checked): no other thread is in SetRules.
  void SetRules(Rules rules);
  /// From now on, RefuseRead calls `told` with each refusal that it returns, and Tell calls `told`
  /// with its own arguments. Refusal does not call `told`. Without TellRefusals, Tell does nothing.
  /// `what`: the method or path, any bytes. Several threads may call `told` at the same time.
  /// REQUIRES (not checked): `told` doesn't wait; TellRefusals is called before other threads use
  /// this object.
  using Told =
      std::function<void(const Caller& caller, std::string_view what, const Refused& refused)>;
  void TellRefusals(Told told) { told_ = std::move(told); }
  void Tell(const Caller& caller, std::string_view what, const Refused& refused) const {
    if (told_) told_(caller, what, refused);
  }
  /// Says that this user will call soon. If there are rules for groups, and the last answer about
  /// the user is not fresh (UserGroups::kFresh), begins to look up its groups. Does not wait.
  void Expect(uid_t user) const;
  /// Waits until all lookups of groups so far are answered. For tests.
  void AwaitGroups() const { groups_.AwaitAnswers(); }

  /// Returns `caller` with its `token` set if the sent token is valid, or with its `bad_token` set
  /// if the sent token is not valid. A token is valid if all of these hold:
  ///  - It came over TLS, or from this host (IsLocalPeer).
  ///  - It has 1 to kLongestToken bytes, and the call has no second token.
  ///  - There is a rule with its SHA-256, and `now` is before the rule's `until`.
  /// Headers with another scheme than Bearer don't count. If there is no token, or with
  /// Tokens::kIgnored, returns `caller` unchanged.
  Caller Identified(Caller caller, const Shown& shown,
                    std::chrono::system_clock::time_point now) const;
  /// The caller's role. If the caller's token is not valid, the role is kProbe, or kNone if the
  /// caller would have kNone without the token. Refusal refuses all calls of this caller, even
  /// those that need kNone. If the caller's certificate has expired, the role is kNone.
  Role RoleOf(const Caller& caller) const;
  /// Returns why the call is refused. nullopt: the call is allowed, because the caller's role
  /// includes `needed`. Does not check whether the caller's token or certificate has expired.
  /// Identified and Certify (callers.h) check this, so make a new Caller for each call. Never
  /// returns kTooMany or kNoChanges.
  std::optional<Refused> Refusal(const Caller& caller, Role needed) const;
  /// As Refusal, for a call that only reads. If the demand has a limit (CallLimits), RefuseRead
  /// also counts the call. Above the limit it refuses the call with kTooMany. Calls that Refusal
  /// refuses are not counted. Callers with kOperate have no limit. With Tokens::kRead, RefuseRead
  /// logs refusals (`read refused`), but at most one line a second for all callers together. Each
  /// line says how many earlier refusals had no line. `what`: the method or path, any bytes.
  std::optional<Refused> RefuseRead(const Caller& caller, const Demand& demand,
                                    std::string_view what) const;
  /// Whether this caller, whose certificate is not known yet, may begin a TLS handshake now. If so,
  /// counts the handshake. The limit (CallLimits) is the same for all roles, because the role of
  /// most callers is not known before the handshake.
  bool TakeHandshake(const Caller& caller) const;
  /// How often RefuseRead has returned kTooMany for this kind so far. For kHandshake: how often
  /// TakeHandshake has returned false.
  std::uint64_t limited(CallLimits::Kind kind) const;

 private:
  // REQUIRES for RoleOfHost to RoleOfUser, and for RoleWithout: mutex_ is held.
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
  /// The role of a caller without a rule for its certificate, and without a known user. `local`:
  /// the caller is on this host.
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
  /// `callers`: the connections of the server; null: no caller's user is known. `no_changes`: why
  /// this server makes no changes; empty: it makes changes. REQUIRES (not checked): `access` is not
  /// null.
  Gate(std::shared_ptr<const Access> access, std::shared_ptr<const Callers> callers,
       std::string no_changes = {})
      : access_(std::move(access)),
        callers_(std::move(callers)),
        no_changes_(std::move(no_changes)) {}

  /// Returns the caller of a call, with its user, certificate and token. Checks whether the token
  /// and the certificate have expired by now. `peer`: the result of grpc::ServerContext::peer.
  /// `certificate`: the client's certificate of the connection.
  Caller CallerAt(std::string peer, const ClientCertificate& certificate = {},
                  const Shown& shown = {}) const;
  Role RoleOf(const Caller& caller) const { return access_->RoleOf(caller); }
  /// Access::Refusal for the role that this method needs. A method without a row (DemandOf) is
  /// refused with kRole. If the server makes no changes, every method that needs kOperate or kAdmin
  /// is refused: callers that may read get kNoChanges with the line `no_changes`, and all others
  /// get the refusal of a call that needs kRead.
  std::optional<Refused> Refusal(const Caller& caller, std::string_view method) const;
  /// Access::RefuseRead for the demand of this method. A method without a row is refused with
  /// kRole. This one refusal is not logged, and not passed to the function of TellRefusals.
  std::optional<Refused> RefuseRead(const Caller& caller, std::string_view method) const;

 private:
  std::shared_ptr<const Access> access_;
  std::shared_ptr<const Callers> callers_;
  std::string no_changes_;
};

}  // namespace baton::access
