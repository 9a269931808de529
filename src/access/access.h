// Access: who may do what on the ports of a node.
//
// Each method of the gRPC services and each path of HTTP needs a role (DemandOf, DemandOfPath). A
// caller has one:
//   1. that of the token that it sends. If the token does not count, each call is refused, but not
//   the HTTP paths that need kNone or kProbe, nor gRPC's health checks and reflection: these look
//   at no token;
//   2. else that of the first rule for the name in the caller's certificate;
//   3. else that of the first rule for the caller's user, or for a group that it is in
//   (UserGroups);
//   4. else kAdmin, if that is root or the user of this process: both can read its memory anyway;
//   5. else what the rules, or else the defaults, give to its host.
// A caller of this host whose user is not known may be any user, so it has only what every user of
// this host has. While a user's groups are not known, it has only what it would have with any
// groups.
//
// Callers without the role kOperate ask within limits (CallLimits), so that they leave room for
// those who have it.
//
// Thread-safe; waits only for a short lock, except for SetRules and AwaitGroups.
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
  kNone,     ///< ask whether the node lives and is ready, which every caller that is let in may
  kProbe,    ///< also ask whether it leads a shard, and whom it takes the caller for
  kRead,     ///< also read the group's state, routes and metrics
  kOperate,  ///< read, and change what leads what
  kLead,     ///< read, and attach to the sidecar as the application that leads
  kAdmin,    ///< all of these
};
inline constexpr Role kRoles[] = {Role::kNone,    Role::kProbe, Role::kRead,
                                  Role::kOperate, Role::kLead,  Role::kAdmin};
/// "none", "probe", "read", "operate", "lead", "admin".
const char* ToString(Role role);
/// nullopt: none of these words.
std::optional<Role> RoleNamed(std::string_view word);
/// Whether a caller with the role `has` may do what needs the role `needed`.
bool Includes(Role has, Role needed);

/// What a method or path asks of its caller.
struct Demand {
  Role role = Role::kRead;  ///< that the caller needs
  /// The limit for callers without the role kOperate. Unset: no limit, because it is a probe, or
  /// needs a role that such callers don't have.
  std::optional<CallLimits::Kind> limit = {};

  bool operator==(const Demand&) const = default;
};

/// What a method demands, as the table in access.cc says. `method` is its name without the service,
/// "GetStatus": no two methods have the same name. nullopt: it has no row, so nobody may call it.
/// Health checks and reflection are services of gRPC's own, which look at no caller: their rows say
/// so (kNone).
std::optional<Demand> DemandOf(std::string_view method);
/// Its role alone.
std::optional<Role> RoleFor(std::string_view method);
/// The methods in the table, in full: "baton.v1.AdminService/GetStatus".
std::vector<std::string> MethodsWithRoles();
/// What a path of the HTTP server demands. `path` has no query. nullopt: it has no row, so there is
/// no such path. A caller who may not read does not learn that. The HTTP server looks at tokens
/// only for paths that need kRead or more; on the others a token that does not count does no harm.
std::optional<Demand> DemandOfPath(std::string_view path);
/// The demand of paths that have no row.
inline constexpr Demand kUnknownPath{.role = Role::kRead, .limit = CallLimits::Kind::kRead};
/// The paths /shards/{s}/leader, by which load balancers find a shard's leader.
inline constexpr std::string_view kLeaderPathPrefix = "/shards/";
inline constexpr std::string_view kLeaderPathSuffix = "/leader";

/// Why a call is refused.
struct Refused {
  enum class Why : std::uint8_t {
    kToken,    ///< the caller sent a token that does not count
    kRole,     ///< the caller lacks the role
    kUnknown,  ///< the same, but more may be known of the caller soon
    kTooMany,  ///< the caller may ask, but asks too often
  };
  Why why = Why::kRole;
  std::string line;  ///< one line that says so, and what to do
};

/// In each refusal of a user whose groups are not known and matter. They may be known soon.
inline constexpr std::string_view kGroupsNotKnown =
    "this host has not said in which groups the user is";
/// In each refusal of a caller of this host whose user is not known. It may be known soon.
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
      {};  ///< with "*" as its last byte: each name that begins with the bytes before
  Role role = Role::kRead;

  bool operator==(const CertificateRule&) const = default;
};

struct TokenRule {
  std::string name = {};  ///< unique among the rules
  Digest sha256 = {};     ///< of the token
  Role role = Role::kRead;
  /// From then on it does not count.
  std::optional<std::chrono::system_clock::time_point> until = {};

  bool operator==(const TokenRule&) const = default;
};

/// How a caller says who it is.
struct Shown {
  std::vector<std::string> authorization = {};  ///< its headers of that name, any bytes
  bool secure = false;                          ///< by TLS
};

/// What an operator decided.
struct Rules {
  std::vector<Rule> users = {};  ///< the first one for a user or one of its groups decides
  std::vector<CertificateRule> certificates = {};  ///< the first one for a name decides
  std::vector<TokenRule> tokens = {};
  std::optional<Role> this_host = {};    ///< instead of Access::Defaults::this_host
  std::optional<Role> other_hosts = {};  ///< instead of Access::Defaults::other_hosts

  bool operator==(const Rules&) const = default;
};

class Access {
 public:
  /// What the header `authorization` means. Servers of programs that embed a node may use it for
  /// services of their own.
  enum class Tokens : std::uint8_t { kRead, kIgnored };
  struct Defaults {
    Role this_host = Role::kRead;    ///< of this host's users without a rule
    Role other_hosts = Role::kRead;  ///< of callers from elsewhere
    Tokens tokens = Tokens::kRead;
  };

  /// `ask`: the database of groups.
  explicit Access(Defaults defaults, UserGroups::Ask ask = GroupsInDatabase)
      : defaults_(defaults), groups_(std::move(ask)) {}

  /// They count for each question from now on. One thread at a time. If there are rules for groups,
  /// it waits until the host's user database has said, or failed to say, in which groups root and
  /// this process's user are. That may take seconds.
  void SetRules(Rules rules);
  /// From now on `told` gets each refusal by RefuseRead, and each that is passed to Tell; those by
  /// Refusal it does not get. It is called on any thread, and must not wait. Call this before
  /// others use the object. `what`: the method or path, any bytes.
  using Told =
      std::function<void(const Caller& caller, std::string_view what, const Refused& refused)>;
  void TellRefusals(Told told) { told_ = std::move(told); }
  void Tell(const Caller& caller, std::string_view what, const Refused& refused) const {
    if (told_) told_(caller, what, refused);
  }
  /// This user will call: its groups are asked for, if rules need them. Does not wait.
  void Expect(uid_t user) const;
  /// Returns once the database has answered for all users so far. For tests.
  void AwaitGroups() const { groups_.AwaitAnswers(); }

  /// The caller with the name of the token that it shows, if it shows one. A token counts only
  /// over TLS or from this host: otherwise others may have read it on the way.
  Caller Identified(Caller caller, const Shown& shown,
                    std::chrono::system_clock::time_point now) const;
  /// The caller's role. If it sent a token that does not count: kProbe at most.
  Role RoleOf(const Caller& caller) const;
  /// nullopt: the caller may do what needs this role. Otherwise one line that says why not, and
  /// what to do.
  std::optional<Refused> Refusal(const Caller& caller, Role needed) const;
  /// The same for a call that only reads. Also counts the call (CallLimits), if the demand has a
  /// limit and the caller lacks kOperate. Logs a refusal (`read refused`), of all callers together
  /// once a second at most; the next line says how many were not logged. `what`: the method or
  /// path, any bytes.
  std::optional<Refused> RefuseRead(const Caller& caller, const Demand& demand,
                                    std::string_view what) const;
  /// How often a call was refused because its caller asks too often, since the start.
  std::uint64_t limited(CallLimits::Kind kind) const;

 private:
  // REQUIRES: mutex_ is held.
  Role RoleOfHost(bool local) const;
  std::optional<Role> RoleOfCertificate(const std::string& name) const;
  /// nullopt: no rule names it any more.
  std::optional<Role> RoleOfToken(const std::string& name) const;
  Role RoleOfUser(uid_t user) const;
  bool LacksGroupsOf(const Caller& caller) const;
  /// Why the caller's token does not count; empty: it does, or there is none.
  std::string TroubleWithToken(const Caller& caller) const;
  /// Whether the caller is on this host, and the kernel has not said which user it is, which
  /// matters.
  bool IsUnknownUser(const Caller& caller) const;
  /// The role of a caller without a certificate or a known user, on this host (`local`) or on
  /// another.
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
  /// `access` is never null: no gate without rules. `callers` are those of the server; null: no
  /// user is known.
  Gate(std::shared_ptr<const Access> access, std::shared_ptr<const Callers> callers)
      : access_(std::move(access)), callers_(std::move(callers)) {}

  /// Who calls, with the user of its connection and its token, if it has them. `peer`: as
  /// grpc::ServerContext::peer names it. `certificate`: see Caller.
  Caller CallerAt(std::string peer, std::string certificate = {}, const Shown& shown = {}) const;
  Role RoleOf(const Caller& caller) const { return access_->RoleOf(caller); }
  /// As Access::Refusal says, for the role that this method needs (RoleFor).
  std::optional<Refused> Refusal(const Caller& caller, std::string_view method) const;
  /// As Access::RefuseRead says. But a method without a row (DemandOf) is refused without a log
  /// line, and Access::Told does not get it.
  std::optional<Refused> RefuseRead(const Caller& caller, std::string_view method) const;

 private:
  std::shared_ptr<const Access> access_;
  std::shared_ptr<const Callers> callers_;
};

}  // namespace baton::access
