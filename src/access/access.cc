#include "access/access.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/text_rules.h"

namespace baton::access {
namespace {

using Kind = CallLimits::Kind;

struct Row {
  std::string_view service;
  std::string_view method;
  Role needs;
  std::optional<Kind> limit = {};
};

constexpr std::string_view kAdmin = "baton.v1.AdminService";
constexpr std::string_view kRouting = "baton.v1.RoutingService";
constexpr std::string_view kHealth = "grpc.health.v1.Health";

constexpr Row kTable[] = {
    {kAdmin, "WhoAmI", Role::kProbe},
    {kAdmin, "GetStatus", Role::kRead, Kind::kRead},
    {kAdmin, "ListShards", Role::kRead, Kind::kRead},
    {kAdmin, "DescribeShard", Role::kRead, Kind::kRead},
    {kAdmin, "ListEvents", Role::kRead, Kind::kRead},
    {kAdmin, "WatchEvents", Role::kRead, Kind::kRead},
    {kAdmin, "PlanRebalance", Role::kRead, Kind::kRead},
    {kAdmin, "Diagnose", Role::kRead, Kind::kDiagnose},
    {kAdmin, "TransferShard", Role::kOperate},
    {kAdmin, "RetryShard", Role::kOperate},
    {kAdmin, "DrainNode", Role::kOperate},
    {kAdmin, "UndrainNode", Role::kOperate},
    {kAdmin, "ApplyRebalance", Role::kOperate},
    {kAdmin, "CancelRebalance", Role::kOperate},
    {kAdmin, "PauseBalance", Role::kOperate},
    {kAdmin, "ResumeBalance", Role::kOperate},
    {kAdmin, "SetGroupSetting", Role::kOperate},
    {kAdmin, "ChangeGroup", Role::kAdmin},
    {kAdmin, "SetNode", Role::kAdmin},
    {kAdmin, "ReleaseShard", Role::kAdmin},
    {kRouting, "Lookup", Role::kRead, Kind::kRoutes},
    {kRouting, "WatchRoutes", Role::kRead, Kind::kRoutes},
    {"baton.v1.SidecarService", "Attach", Role::kLead},
    // gRPC answers these by itself, the last one with --grpc-reflection alone.
    {kHealth, "Check", Role::kNone},
    {kHealth, "Watch", Role::kNone},
    {"grpc.reflection.v1alpha.ServerReflection", "ServerReflectionInfo", Role::kNone},
};

struct PathRow {
  std::string_view path;  ///< with "*" as its last byte: all that begin so
  Role needs;
  std::optional<Kind> limit = {};
};

// Kubelets, load balancers and browsers ask for the first ones without a name. The page's files
// show nothing of the group; the data that they load does.
constexpr PathRow kPathTable[] = {
    {"/livez", Role::kNone},
    {"/readyz", Role::kNone},
    {"/", Role::kProbe},
    {"/page/*", Role::kProbe},
    {"/metrics", Role::kRead, Kind::kRead},
    {"/metrics/shards", Role::kRead, Kind::kRead},
    {"/v1/shards", Role::kRead, Kind::kRead},
    {"/v1/shards/*", Role::kRead, Kind::kRead},
    {"/v1/events", Role::kRead, Kind::kRead},
    {"/v1/status", Role::kRead, Kind::kRead},
    {"/v1/overview", Role::kRead, Kind::kRead},
    {"/v1/lookup", Role::kRead, Kind::kRoutes},
    {"/v1/routes", Role::kRead, Kind::kRoutes},
};

constexpr const char* kNoSuchToken = "--access of the node has no such token";
constexpr std::size_t kLongestWhat = 128;
constexpr std::chrono::seconds kLogEvery{1};

/// The greatest role that each of these includes.
Role Common(const std::vector<Role>& all) {
  for (const Role role : {Role::kAdmin, Role::kOperate, Role::kLead, Role::kRead, Role::kProbe}) {
    if (std::ranges::all_of(all, [role](Role one) { return Includes(one, role); })) return role;
  }
  return Role::kNone;
}

const char* Word(Refused::Why why) {
  switch (why) {
    case Refused::Why::kToken: return "token";
    case Refused::Why::kCertificate: return "certificate";
    case Refused::Why::kRole: return "role";
    case Refused::Why::kUnknown: return "not_known";
    case Refused::Why::kTooMany: return "too_often";
    case Refused::Why::kNoChanges: return "no_changes";
  }
  return "unknown";
}

}  // namespace

const char* ToString(Role role) {
  switch (role) {
    case Role::kNone: return "none";
    case Role::kProbe: return "probe";
    case Role::kRead: return "read";
    case Role::kOperate: return "operate";
    case Role::kLead: return "lead";
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

bool Includes(Role has, Role needed) {
  if (has == needed || has == Role::kAdmin || needed == Role::kNone) return true;
  if (has == Role::kNone || needed == Role::kProbe) return has != Role::kNone;
  return needed == Role::kRead && has != Role::kProbe;
}

std::optional<Demand> DemandOf(std::string_view method) {
  for (const Row& row : kTable) {
    if (row.method == method) return Demand{.role = row.needs, .limit = row.limit};
  }
  return std::nullopt;
}

std::optional<Role> RoleFor(std::string_view method) {
  const auto demand = DemandOf(method);
  return demand ? std::optional(demand->role) : std::nullopt;
}

std::vector<std::string> MethodsWithRoles() {
  std::vector<std::string> methods;
  for (const Row& row : kTable) methods.push_back(fmt::format("{}/{}", row.service, row.method));
  return methods;
}

std::optional<Demand> DemandOfPath(std::string_view path) {
  if (path.starts_with(kLeaderPathPrefix) && path.ends_with(kLeaderPathSuffix)) {
    return Demand{.role = Role::kProbe};
  }
  for (const PathRow& row : kPathTable) {
    const bool prefix = row.path.ends_with('*');
    const std::string_view text = row.path.substr(0, row.path.size() - (prefix ? 1 : 0));
    if (prefix ? path.starts_with(text) : path == text) {
      return Demand{.role = row.needs, .limit = row.limit};
    }
  }
  return std::nullopt;
}

void Access::SetRules(Rules rules) {
  const bool by_groups = std::ranges::any_of(
      rules.users, [](const Rule& rule) { return rule.who == Rule::For::kGroup; });
  if (by_groups) {
    for (const uid_t user : {uid_t{0}, geteuid()}) groups_.Know(user, BootClock::now());
  }
  const std::lock_guard lock(mutex_);
  rules_ = std::move(rules);
  by_groups_ = by_groups;
}

void Access::Expect(uid_t user) const {
  const std::lock_guard lock(mutex_);
  if (by_groups_) groups_.Of(user, BootClock::now());
}

Role Access::RoleOfHost(bool local) const {
  return local ? rules_.this_host.value_or(defaults_.this_host)
               : rules_.other_hosts.value_or(defaults_.other_hosts);
}

std::optional<Role> Access::RoleOfCertificate(const std::string& name) const {
  for (const CertificateRule& rule : rules_.certificates) {
    if (FitsCertificatePattern(name, rule.name)) return rule.role;
  }
  return std::nullopt;
}

Caller Access::Identified(Caller caller, const Shown& shown,
                          std::chrono::system_clock::time_point now) const {
  std::optional<std::string_view> token;
  if (defaults_.tokens == Tokens::kIgnored) return caller;
  for (const std::string& header : shown.authorization) {
    const auto found = TokenIn(header);
    if (found && token) caller.bad_token = "there are two";
    if (found) token = found;
  }
  if (!token || !caller.bad_token.empty()) return caller;
  if (!shown.secure && !IsLocalPeer(caller.peer)) {
    caller.bad_token =
        "tokens count by TLS or from the node's own host alone, and this one crossed the network "
        "unencrypted; replace it";
    return caller;
  }
  if (token->empty() || token->size() > kLongestToken) {
    caller.bad_token = fmt::format("expected 1 to {} bytes", kLongestToken);
    return caller;
  }
  const Digest digest = DigestOf(*token);
  const std::lock_guard lock(mutex_);
  caller.bad_token = kNoSuchToken;
  for (const TokenRule& rule : rules_.tokens) {  // all of them, so that the time tells nothing
    if (!IsSame(rule.sha256, digest)) continue;
    const bool over = rule.until && now >= *rule.until;
    caller.token = over ? "" : rule.name;
    caller.bad_token = over ? fmt::format("the token {} has expired", rule.name) : "";
  }
  return caller;
}

std::optional<Role> Access::RoleOfToken(const std::string& name) const {
  for (const TokenRule& rule : rules_.tokens) {
    if (rule.name == name) return rule.role;
  }
  return std::nullopt;
}

// Rules may change between Identified and this.
std::string Access::TroubleWithToken(const Caller& caller) const {
  if (caller.token.empty()) return caller.bad_token;
  const std::lock_guard lock(mutex_);
  return RoleOfToken(caller.token) ? "" : kNoSuchToken;
}

Role Access::RoleOf(const Caller& caller) const {
  if (!caller.bad_certificate.empty()) return Role::kNone;
  const std::lock_guard lock(mutex_);
  const bool named = !caller.token.empty();
  const std::optional<Role> by_token = named ? RoleOfToken(caller.token) : std::nullopt;
  if (by_token) return *by_token;
  const auto certified = RoleOfCertificate(caller.certificate);
  const Role role = certified     ? *certified
                    : caller.user ? RoleOfUser(*caller.user)
                                  : RoleWithout(IsLocalPeer(caller.peer));
  const bool bad_token = named || !caller.bad_token.empty();
  return bad_token && role != Role::kNone ? Role::kProbe : role;
}

Role Access::RoleOfUser(uid_t user) const {
  const auto groups = by_groups_ ? groups_.Of(user, BootClock::now()) : nullptr;
  std::vector<Role> possible;  // more than one if its groups matter and are not known
  for (const Rule& rule : rules_.users) {
    const bool for_group = rule.who == Rule::For::kGroup;
    if (for_group && groups == nullptr) possible.push_back(rule.role);
    const bool fits =
        for_group ? groups != nullptr && std::ranges::count(*groups, rule.id) > 0 : rule.id == user;
    if (!fits) continue;
    possible.push_back(rule.role);
    return Common(possible);
  }
  possible.push_back(user == 0 || user == geteuid() ? Role::kAdmin : RoleOfHost(true));
  return Common(possible);
}

bool Access::LacksGroupsOf(const Caller& caller) const {
  const std::lock_guard lock(mutex_);
  return by_groups_ && caller.user && !RoleOfCertificate(caller.certificate) &&
         groups_.Of(*caller.user, BootClock::now()) == nullptr;
}

// A certificate without a rule counts for nothing, also if the user is not known yet.
bool Access::IsUnknownUser(const Caller& caller) const {
  const std::lock_guard lock(mutex_);
  return !caller.user && IsLocalPeer(caller.peer) && !RoleOfCertificate(caller.certificate);
}

Role Access::RoleWithout(bool local) const {
  const Role host = RoleOfHost(local);
  if (!local) return host;
  for (const Role role : {host, Role::kRead, Role::kProbe}) {
    const auto has = [role](const Rule& rule) { return Includes(rule.role, role); };
    if (Includes(host, role) && std::all_of(rules_.users.begin(), rules_.users.end(), has)) {
      return role;
    }
  }
  return Role::kNone;
}

std::optional<Refused> Access::Refusal(const Caller& caller, Role needed) const {
  if (!caller.bad_certificate.empty()) {
    return Refused{.why = Refused::Why::kCertificate,
                   .line = fmt::format("{} shows a certificate that does not count: {}; connect "
                                       "again with another one",
                                       NameOf(caller), caller.bad_certificate)};
  }
  if (const std::string trouble = TroubleWithToken(caller); !trouble.empty()) {
    return Refused{
        .why = Refused::Why::kToken,
        .line = fmt::format("{} sent a token that does not count: {}", NameOf(caller), trouble)};
  }
  if (Includes(RoleOf(caller), needed)) return std::nullopt;
  std::string line =
      fmt::format("{} may not do this: it needs the role {}", NameOf(caller), ToString(needed));
  if (caller.token.empty() && LacksGroupsOf(caller)) {
    return Refused{.why = Refused::Why::kUnknown,
                   .line = fmt::format("{}, and {}; ask again in 2 s", line, kGroupsNotKnown)};
  }
  auto why = Refused::Why::kRole;
  if (defaults_.tokens == Tokens::kIgnored) {
    line += "; the program's AdminOptions say who has it (operators, allow_remote)";
  } else if (!caller.token.empty()) {
    line += "; --access of the node gives roles to tokens";
  } else if (!caller.certificate.empty() && !IsUnknownUser(caller)) {
    line += "; --access of the node gives roles to certificates";
  } else if (!IsLocalPeer(caller.peer)) {
    line += needed == Role::kOperate
                ? "; run batonctl on the node's own host, or see --allow-remote-admin, and "
                  "other_hosts in --access"
                : "; other_hosts in the node's --access gives it less";
  } else if (caller.user) {
    line += fmt::format(
        "; root and uid {}, the node's own user, have it unless --access says "
        "otherwise, and it gives it to others",
        geteuid());
  } else {
    line += fmt::format(
        ", and {}; ask again on this connection in 2 s, and if this stays, connect again, and see "
        "docs/security.md",
        kUserNotKnown);
    why = Refused::Why::kUnknown;
  }
  return Refused{.why = why, .line = std::move(line)};
}

std::optional<Refused> Access::WhyNot(const Caller& caller, const Demand& demand) const {
  if (auto refusal = Refusal(caller, demand.role)) return refusal;
  if (!demand.limit || Includes(RoleOf(caller), Role::kOperate)) return std::nullopt;
  {
    const std::lock_guard lock(limits_mutex_);
    if (limits_.Take(LimitedAs(caller), *demand.limit, BootClock::now())) return std::nullopt;
    ++limited_[static_cast<std::size_t>(*demand.limit)];
  }
  return Refused{.why = Refused::Why::kTooMany,
                 .line = fmt::format("{} asks too often: {} without the role operate; try again in "
                                     "a moment",
                                     NameOf(caller), Words(*demand.limit))};
}

bool Access::TakeHandshake(const Caller& caller) const {
  const std::lock_guard lock(limits_mutex_);
  const bool taken = limits_.Take(LimitedAs(caller), Kind::kHandshake, BootClock::now());
  if (!taken) ++limited_[static_cast<std::size_t>(Kind::kHandshake)];
  return taken;
}

std::uint64_t Access::limited(CallLimits::Kind kind) const {
  const std::lock_guard lock(limits_mutex_);
  return limited_[static_cast<std::size_t>(kind)];
}

std::optional<Refused> Access::RefuseRead(const Caller& caller, const Demand& demand,
                                          std::string_view what) const {
  auto refusal = WhyNot(caller, demand);
  if (!refusal) return std::nullopt;
  Tell(caller, what, *refusal);
  // The log of an embedding program is not known here (NodeOptions::log).
  if (defaults_.tokens == Tokens::kIgnored) return refusal;
  std::uint64_t not_logged = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (now < quiet_until_) {
      ++not_logged_;
      return refusal;
    }
    quiet_until_ = now + kLogEvery;
    not_logged = std::exchange(not_logged_, 0);
  }
  log::Warn("read refused", {{"what", OneLine(what, kLongestWhat)},
                             {"why", Word(refusal->why)},
                             {"by", NameOf(caller)},
                             {"peer", OneLine(caller.peer, kLongestPeerName)},
                             {"not_logged", not_logged}});
  return refusal;
}

Caller Gate::CallerAt(std::string peer, const ClientCertificate& certificate,
                      const Shown& shown) const {
  const auto now = std::chrono::system_clock::now();
  Caller caller{.peer = std::move(peer)};
  Certify(caller, certificate, now);
  if (callers_ != nullptr) caller.user = callers_->UserOf(caller.peer);
  return access_->Identified(std::move(caller), shown, now);
}

std::optional<Refused> Gate::Refusal(const Caller& caller, std::string_view method) const {
  const auto needed = RoleFor(method);
  if (!needed) return Refused{.line = "nobody may do this"};
  if (no_changes_.empty() || !Includes(*needed, Role::kOperate)) {
    return access_->Refusal(caller, *needed);
  }
  if (auto refusal = access_->Refusal(caller, Role::kRead)) return refusal;
  return Refused{.why = Refused::Why::kNoChanges, .line = no_changes_};
}

std::optional<Refused> Gate::RefuseRead(const Caller& caller, std::string_view method) const {
  const auto demand = DemandOf(method);
  return demand ? access_->RefuseRead(caller, *demand, method) : Refusal(caller, method);
}

}  // namespace baton::access
