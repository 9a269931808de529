// Which caller may do what.
#include "access/access.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "baton/v1/admin.pb.h"
#include "baton/v1/routing.pb.h"
#include "baton/v1/sidecar.pb.h"

namespace baton::access {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAreArray;

Caller Local(std::optional<uid_t> user) { return {.peer = "ipv4:127.0.0.1:5", .user = user}; }
const Caller kRemote{.peer = "ipv4:10.0.0.1:5", .user = std::nullopt};
const uid_t kStranger = geteuid() + 4711;

/// The methods of all services of ours, in full.
std::vector<std::string> Methods() {
  std::vector<std::string> methods;
  for (const auto* file :
       {v1::GetStatusRequest::descriptor()->file(), v1::LookupRequest::descriptor()->file(),
        v1::AttachRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back(file->service(s)->full_name() + "/" +
                          file->service(s)->method(m)->name());
      }
    }
  }
  return methods;
}

std::string NameIn(const std::string& method) { return method.substr(method.find('/') + 1); }

// Plan: each method has a row, and so have those of gRPC's own services; no two have the same name,
// and no row is of a method that is gone.
TEST(Access, EveryMethodHasARow) {
  std::set<std::string> names;
  std::vector<std::string> expected = Methods();
  for (const char* method : {"grpc.health.v1.Health/Check", "grpc.health.v1.Health/Watch",
                             "grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}) {
    expected.emplace_back(method);
    EXPECT_EQ(RoleFor(NameIn(method)), Role::kNone) << "gRPC answers everybody: " << method;
  }
  for (const std::string& method : expected) {
    EXPECT_TRUE(RoleFor(NameIn(method)).has_value())
        << method << " needs a row in src/access/access.cc";
    EXPECT_TRUE(names.insert(NameIn(method)).second) << method << " is not the only one";
  }
  EXPECT_THAT(MethodsWithRoles(), UnorderedElementsAreArray(expected));
  EXPECT_FALSE(RoleFor("NoSuchMethod").has_value());
}

TEST(Access, PathsHaveRows) {
  for (const char* path : {"/livez", "/readyz"}) {
    EXPECT_EQ(DemandOfPath(path), (Demand{.role = Role::kNone})) << path;
  }
  for (const char* path : {"/", "/shards/7/leader", "/page/main.js"}) {
    EXPECT_EQ(DemandOfPath(path), (Demand{.role = Role::kProbe})) << path;
  }
  for (const char* path :
       {"/metrics", "/metrics/shards", "/v1/shards", "/v1/shards/7", "/v1/lookup", "/v1/routes",
        "/v1/events", "/v1/status", "/v1/overview"}) {
    ASSERT_TRUE(DemandOfPath(path)) << path;
    EXPECT_EQ(DemandOfPath(path)->role, Role::kRead) << path;
  }
  for (const char* path : {"/livezz", "/nothing", "", "/v1", "/page", "/v1/routes/"}) {
    EXPECT_FALSE(DemandOfPath(path)) << path;
  }
}

// Plan: without a limit are probes, and what callers with a limit may not do anyway.
TEST(Access, WhateverReadsHasALimit) {
  for (const std::string& method : MethodsWithRoles()) {
    const Demand demand = *DemandOf(NameIn(method));
    EXPECT_EQ(demand.limit.has_value(), demand.role == Role::kRead) << method;
  }
  using Kind = CallLimits::Kind;
  EXPECT_EQ(DemandOf("Diagnose")->limit, Kind::kDiagnose);
  EXPECT_EQ(DemandOf("WatchRoutes")->limit, Kind::kRoutes);
  EXPECT_EQ(DemandOfPath("/v1/routes")->limit, Kind::kRoutes);
  EXPECT_EQ(DemandOfPath("/v1/lookup")->limit, Kind::kRoutes);
  EXPECT_EQ(DemandOfPath("/metrics")->limit, Kind::kRead);
  EXPECT_EQ(kUnknownPath.limit, Kind::kRead);
}

TEST(Access, RolesHaveWords) {
  for (const Role role : kRoles) EXPECT_EQ(RoleNamed(ToString(role)), role);
  EXPECT_FALSE(RoleNamed("root").has_value());
  EXPECT_FALSE(RoleNamed("").has_value());
}

// Plan: rows have the role, columns what is needed: none, probe, read, operate, lead, admin.
TEST(Access, ARoleIncludesOthers) {
  constexpr bool kIncludes[6][6] = {
      {true, false, false, false, false, false}, {true, true, false, false, false, false},
      {true, true, true, false, false, false},   {true, true, true, true, false, false},
      {true, true, true, false, true, false},    {true, true, true, true, true, true}};
  for (std::size_t has = 0; has < 6; ++has) {
    for (std::size_t needed = 0; needed < 6; ++needed) {
      EXPECT_EQ(Includes(kRoles[has], kRoles[needed]), kIncludes[has][needed])
          << ToString(kRoles[has]) << " for " << ToString(kRoles[needed]);
    }
  }
}

TEST(Access, RootAndOurOwnUserMayDoEverythingOthersRead) {
  const Access access({});
  EXPECT_EQ(access.RoleOf(Local(0)), Role::kAdmin);
  EXPECT_EQ(access.RoleOf(Local(geteuid())), Role::kAdmin);
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kRead);
  EXPECT_EQ(access.RoleOf(Local(std::nullopt)), Role::kRead);
  EXPECT_EQ(access.RoleOf(kRemote), Role::kRead);
}

// Plan: one user of a group and one holder of a certificate get nothing; the others keep what they
// have. The rules for those who get nothing come first.
TEST(Access, ARuleCanGiveNothing) {
  Access access({});
  access.SetRules({.users = {{kStranger, Role::kNone}},
                   .certificates = {{"cn:bob", Role::kNone}, {"cn:*", Role::kOperate}}});
  for (const char* method : {"WhoAmI", "GetStatus", "Lookup", "DrainNode", "Attach"}) {
    EXPECT_TRUE(access.Refusal(Local(kStranger), *RoleFor(method))) << method;
  }
  EXPECT_FALSE(access.Refusal(Local(kStranger), *RoleFor("Check"))) << "gRPC asks nobody";
  EXPECT_FALSE(access.Refusal(Local(kStranger + 1), *RoleFor("GetStatus")));
  Caller bob = kRemote;
  bob.certificate = "cn:bob";
  EXPECT_TRUE(access.Refusal(bob, *RoleFor("WhoAmI")));
  bob.certificate = "cn:bobby";
  EXPECT_FALSE(access.Refusal(bob, *RoleFor("DrainNode")));
}

// Plan: a caller who may not read asks twice, and then sends a token that does not count.
TEST(Access, TellsEachRefusal) {
  Access access({.this_host = Role::kProbe});
  std::vector<std::string> told;
  access.TellRefusals([&](const Caller& caller, std::string_view what, const Refused& refused) {
    told.push_back(NameOf(caller) + " " + std::string(what) + ": " + refused.line);
  });
  EXPECT_FALSE(access.RefuseRead(Local(kStranger), *DemandOf("WhoAmI"), "WhoAmI"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(access.RefuseRead(Local(kStranger), *DemandOf("GetStatus"), "GetStatus"));
  }
  Caller guesser = Local(kStranger);
  guesser.bad_token = "--access of the node has no such token";
  EXPECT_TRUE(access.RefuseRead(guesser, *DemandOf("WhoAmI"), "WhoAmI"));
  const std::string name = "uid " + std::to_string(kStranger);
  EXPECT_THAT(told, ElementsAre(StartsWith(name + " GetStatus: " + name + " may not do this"),
                                StartsWith(name + " GetStatus: "),
                                StartsWith(name + " WhoAmI: " + name + " sent a token that")));
}

TEST(Access, DefaultsAreForThoseWithoutARule) {
  Access access({.this_host = Role::kOperate, .other_hosts = Role::kRead});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kOperate);
  EXPECT_EQ(access.RoleOf(Local(std::nullopt)), Role::kOperate);
  EXPECT_EQ(access.RoleOf(kRemote), Role::kRead);
  access.SetRules({.users = {}, .this_host = Role::kProbe, .other_hosts = Role::kOperate});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kProbe);
  EXPECT_EQ(access.RoleOf(Local(geteuid())), Role::kAdmin);
  EXPECT_EQ(access.RoleOf(kRemote), Role::kOperate);
}

TEST(Access, TheFirstRuleForAUserDecides) {
  Access access({});
  access.SetRules(
      {.users = {{kStranger, Role::kOperate}, {kStranger, Role::kRead}, {geteuid(), Role::kRead}}});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kOperate);
  EXPECT_EQ(access.RoleOf(Local(geteuid())), Role::kRead) << "a rule comes before the default";
  EXPECT_EQ(access.RoleOf(Local(std::nullopt)), Role::kRead);
  access.SetRules({});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kRead);
}

// Plan: rules for one name and for all that begin alike; a name without a rule, and no name.
TEST(Access, TheFirstRuleForACertificateComesBeforeTheUser) {
  Access access({});
  access.SetRules(
      {.users = {{kStranger, Role::kProbe}},
       .certificates = {
           {"cn:a", Role::kOperate}, {"cn:a", Role::kProbe}, {"spiffe://x/ops/*", Role::kLead}}});
  const auto role = [&](const std::string& name) {
    return access.RoleOf({.peer = "ipv4:10.0.0.1:5", .certificate = name});
  };
  EXPECT_EQ(role("cn:a"), Role::kOperate);
  EXPECT_EQ(role("cn:ab"), Role::kRead);
  EXPECT_EQ(role("spiffe://x/ops/bob"), Role::kLead);
  EXPECT_EQ(role("spiffe://x/ops/"), Role::kLead);
  EXPECT_EQ(role("spiffe://x/ops"), Role::kRead);
  EXPECT_EQ(role(""), Role::kRead);
  Caller both = Local(kStranger);
  EXPECT_EQ(access.RoleOf(both), Role::kProbe);
  both.certificate = "cn:a";
  EXPECT_EQ(access.RoleOf(both), Role::kOperate);
  both.certificate = "cn:b";
  EXPECT_EQ(access.RoleOf(both), Role::kProbe) << "the user decides";
  Caller root = Local(0);
  root.certificate = "spiffe://x/ops/bob";
  EXPECT_EQ(access.RoleOf(root), Role::kLead);
  const auto refusal = access.Refusal(root, Role::kOperate);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_THAT(refusal->line, StartsWith("spiffe://x/ops/bob may not do this"));
}

TEST(Access, ACertificatesRuleIsForThoseWhoShowIt) {
  Access access({});
  access.SetRules({.certificates = {{"cn:a", Role::kProbe}}});
  EXPECT_EQ(access.RoleOf(Local(std::nullopt)), Role::kRead) << "it showed no certificate";
}

// Plan: rules for users and for groups in turn, for a user in two groups, and for this process's
// own.
TEST(Access, TheFirstRuleForAUserOrItsGroupDecides) {
  constexpr auto kGroup = Rule::For::kGroup;
  Access access({}, [](uid_t user) -> std::optional<Groups> {
    return user == kStranger ? Groups{7, 8} : Groups{};
  });
  const auto role = [&](std::vector<Rule> rules) {
    access.SetRules({.users = std::move(rules)});
    access.Expect(kStranger);
    access.AwaitGroups();
    return access.RoleOf(Local(kStranger));
  };
  EXPECT_EQ(role({{7, Role::kOperate, kGroup}}), Role::kOperate);
  EXPECT_EQ(role({{7, Role::kOperate}}), Role::kRead) << "a user of that number";
  EXPECT_EQ(role({{6, Role::kAdmin, kGroup}, {8, Role::kOperate, kGroup}}), Role::kOperate);
  EXPECT_EQ(role({{8, Role::kProbe, kGroup}, {7, Role::kOperate, kGroup}}), Role::kProbe);
  EXPECT_EQ(role({{kStranger, Role::kLead}, {7, Role::kOperate, kGroup}}), Role::kLead);
  EXPECT_EQ(role({{7, Role::kOperate, kGroup}, {kStranger, Role::kLead}}), Role::kOperate);
  EXPECT_EQ(access.RoleOf(Local(geteuid())), Role::kAdmin) << "it is in no group";
}

// Plan: the database does not answer. A user has what it would have in any groups; a rule of its
// own that comes first needs none. Its refusal says that more may be known soon.
TEST(Access, AUserWhoseGroupsAreNotKnownHasWhatItHasInAny) {
  constexpr auto kGroup = Rule::For::kGroup;
  Access access({}, [](uid_t) -> std::optional<Groups> { return std::nullopt; });
  const auto role = [&](std::vector<Rule> rules) {
    access.SetRules({.users = std::move(rules)});
    return access.RoleOf(Local(kStranger));
  };
  EXPECT_EQ(role({{7, Role::kOperate, kGroup}}), Role::kRead);
  const auto refused = access.Refusal(Local(kStranger), Role::kOperate);
  EXPECT_EQ(refused->why, Refused::Why::kUnknown);
  EXPECT_THAT(refused->line, HasSubstr("this host has not said in which groups the user is"));
  EXPECT_EQ(role({{7, Role::kProbe, kGroup}}), Role::kProbe);
  EXPECT_EQ(role({{7, Role::kOperate, kGroup}, {kStranger, Role::kLead}}), Role::kRead);
  EXPECT_EQ(role({{7, Role::kAdmin, kGroup}, {kStranger, Role::kLead}}), Role::kLead);
  EXPECT_EQ(role({{kStranger, Role::kOperate}, {7, Role::kProbe, kGroup}}), Role::kOperate);
}

// Plan: a caller whose user is not known may be a user with less than the others.
TEST(Access, AnUnknownUserHasWhatAllUsersHave) {
  Access access({.this_host = Role::kOperate, .other_hosts = Role::kRead});
  const auto unknown = [&] { return access.RoleOf(Local(std::nullopt)); };
  EXPECT_EQ(unknown(), Role::kOperate);
  access.SetRules({.users = {{kStranger, Role::kAdmin}}});
  EXPECT_EQ(unknown(), Role::kOperate);
  for (const Role role : {Role::kRead, Role::kLead}) {
    access.SetRules({.users = {{kStranger, role}}});
    EXPECT_EQ(unknown(), Role::kRead) << ToString(role);
    EXPECT_EQ(access.RoleOf(Local(kStranger + 1)), Role::kOperate) << "has no rule";
  }
  access.SetRules({.users = {{kStranger, Role::kProbe}}, .this_host = Role::kLead});
  EXPECT_EQ(unknown(), Role::kProbe);
  access.SetRules({.users = {{kStranger, Role::kNone}}, .this_host = Role::kLead});
  EXPECT_EQ(unknown(), Role::kNone);
  EXPECT_EQ(access.RoleOf(kRemote), Role::kRead) << "nobody there has a user";
}

// A certificate without a rule counts for nothing: who shows one is asked to come back like others,
// while its user, or its user's groups, are not known.
TEST(Access, ACertificateWithoutARuleHidesNotThatMoreMayBeKnownSoon) {
  Access access({});
  access.SetRules({.users = {{.id = kStranger, .role = Role::kOperate}},
                   .certificates = {{.name = "dns:ruled", .role = Role::kRead}}});
  Caller caller = Local(std::nullopt);
  caller.certificate = "dns:unruled";
  auto refused = access.Refusal(caller, Role::kOperate);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, Refused::Why::kUnknown);
  EXPECT_THAT(refused->line, HasSubstr(kUserNotKnown));
  caller.certificate = "dns:ruled";
  refused = access.Refusal(caller, Role::kOperate);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->why, Refused::Why::kRole);
}

TEST(Access, ARefusalNamesTheCallerTheRoleAndWhatToDo) {
  Access access({});
  EXPECT_FALSE(access.Refusal(Local(geteuid()), Role::kOperate).has_value());
  EXPECT_FALSE(access.Refusal(kRemote, Role::kRead).has_value());
  const auto stranger = access.Refusal(Local(kStranger), Role::kOperate);
  ASSERT_TRUE(stranger.has_value());
  EXPECT_THAT(stranger->line, StartsWith("uid " + std::to_string(kStranger) + " may not do this"));
  EXPECT_THAT(stranger->line, HasSubstr("role operate"));
  EXPECT_THAT(stranger->line, HasSubstr("--access"));
  EXPECT_THAT(access.Refusal(kRemote, Role::kOperate)->line, HasSubstr("--allow-remote-admin"));
  EXPECT_THAT(access.Refusal(Local(std::nullopt), Role::kOperate)->line,
              HasSubstr("ask again on this connection"));
  access.SetRules({.users = {}, .this_host = {}, .other_hosts = Role::kProbe});
  EXPECT_THAT(access.Refusal(kRemote, Role::kRead)->line,
              HasSubstr("other_hosts in the node's --access gives it less"));
}

// Plan: a stranger uses its examinations up, and another one those of routes. Neither other callers
// nor its other questions are concerned, and operators have no limit.
TEST(Access, WhoAsksTooOftenIsRefusedAloneUnlessItMayOperate) {
  Access access({});
  const Demand diagnose = *DemandOf("Diagnose");
  const auto refused = [&](const Caller& caller) {
    return access.RefuseRead(caller, diagnose, "Diagnose");
  };
  const auto burst = CallLimits::LimitOf(CallLimits::Kind::kDiagnose).burst;
  for (std::uint32_t i = 0; i < burst; ++i) EXPECT_FALSE(refused(Local(kStranger)));
  const auto once_more = refused(Local(kStranger));
  ASSERT_TRUE(once_more.has_value());
  EXPECT_EQ(once_more->why, Refused::Why::kTooMany);
  EXPECT_EQ(once_more->line,
            "uid " + std::to_string(kStranger) +
                " asks too often: at most one examination in 10 s without the role "
                "operate; try again in a moment");
  EXPECT_EQ(access.limited(CallLimits::Kind::kDiagnose), 1U);
  EXPECT_EQ(access.limited(CallLimits::Kind::kRead), 0U);
  EXPECT_FALSE(refused(Local(kStranger + 1)));
  EXPECT_FALSE(refused(kRemote));
  EXPECT_FALSE(access.RefuseRead(Local(kStranger), *DemandOf("GetStatus"), "GetStatus"));
  EXPECT_FALSE(access.RefuseRead(Local(kStranger), *DemandOf("WhoAmI"), "WhoAmI"));
  for (std::uint32_t i = 0; i < 10 * burst; ++i) EXPECT_FALSE(refused(Local(geteuid())));
  access.SetRules({.users = {{kStranger, Role::kOperate}}});
  EXPECT_FALSE(refused(Local(kStranger)));
  access.SetRules({.users = {{kStranger, Role::kProbe}}});
  EXPECT_EQ(refused(Local(kStranger))->why, Refused::Why::kRole) << "this is said first";
}

// Plan: handshakes have a limit that is the same for root and a reader, since most callers have no
// role of their own before them; they count by address and user, and no question counts as one.
TEST(Access, HandshakesHaveALimitForEachCaller) {
  const Access access({});
  const auto burst = CallLimits::LimitOf(CallLimits::Kind::kHandshake).burst;
  for (const Caller& caller : {kRemote, Local(kStranger), Local(0)}) {
    std::uint32_t taken = 0;
    while (taken < 100 * burst && access.TakeHandshake(caller)) ++taken;
    EXPECT_GE(taken, burst);
    EXPECT_LT(taken, 100 * burst);
    EXPECT_FALSE(access.RefuseRead(caller, {Role::kRead, CallLimits::Kind::kRead}, "GetStatus"));
  }
  EXPECT_EQ(access.limited(CallLimits::Kind::kHandshake), 3U);
  EXPECT_TRUE(access.TakeHandshake({.peer = "ipv4:10.0.0.2:5"}));
}

// Plan: a server that makes no changes, as a relay is, tells so to all who may read, root too; who
// may not read hears what a reader without the role hears. Questions are as elsewhere.
TEST(Gate, OfAServerWithoutChangesSaysSo) {
  const auto access = std::make_shared<Access>(Access::Defaults{.other_hosts = Role::kProbe});
  const Gate gate(access, nullptr, "this is a relay");
  for (const char* change : {"DrainNode", "ReleaseShard"}) {
    for (const Caller& caller : {Local(kStranger), Local(0)}) {
      const auto refused = gate.Refusal(caller, change);
      ASSERT_TRUE(refused);
      EXPECT_EQ(refused->why, Refused::Why::kNoChanges);
      EXPECT_EQ(refused->line, "this is a relay");
    }
    EXPECT_EQ(gate.Refusal(kRemote, change)->why, Refused::Why::kRole);
  }
  EXPECT_FALSE(gate.Refusal(Local(kStranger), "GetStatus"));
  EXPECT_TRUE(gate.Refusal(kRemote, "GetStatus"));
}

// Plan: without callers nobody's user is known, so hosts decide.
TEST(Gate, ComparesTheCallersRoleWithTheMethods) {
  const auto access = std::make_shared<Access>(Access::Defaults{});
  const Gate gate(access, nullptr);
  const Caller caller = gate.CallerAt("ipv4:127.0.0.1:5");
  EXPECT_FALSE(caller.user.has_value());
  EXPECT_EQ(gate.RoleOf(caller), Role::kRead);
  EXPECT_FALSE(gate.Refusal(caller, "GetStatus").has_value());
  EXPECT_TRUE(gate.Refusal(caller, "DrainNode").has_value());
  EXPECT_TRUE(gate.Refusal(caller, "Attach").has_value());
  EXPECT_TRUE(gate.Refusal({.peer = "unix:", .user = geteuid()}, "NoSuchMethod").has_value());
}

// Plan: a certificate whose rule gives everything, up to the moment at which it expires. From then
// on its holder may do nothing, not even what every caller may, or what its user may.
TEST(Access, AnExpiredCertificateGivesNoNameAndNoRole) {
  Access access({.this_host = Role::kAdmin, .other_hosts = Role::kAdmin});
  access.SetRules({.certificates = {{"cn:bob", Role::kAdmin}}});
  const std::chrono::system_clock::time_point until{std::chrono::hours(1)};
  for (Caller caller : {Local(geteuid()), Local(std::nullopt), kRemote}) {
    Certify(caller, {.name = "cn:bob", .until = until}, until - std::chrono::seconds(1));
    EXPECT_EQ(caller.certificate, "cn:bob");
    EXPECT_EQ(access.RoleOf(caller), Role::kAdmin);
    EXPECT_FALSE(access.Refusal(caller, Role::kAdmin));
    Certify(caller, {.name = "cn:bob", .until = until}, until);
    EXPECT_EQ(caller.certificate, "");
    EXPECT_EQ(access.RoleOf(caller), Role::kNone);
    for (const Role needed : {Role::kProbe, Role::kRead, Role::kAdmin}) {
      const auto refused = access.Refusal(caller, needed);
      ASSERT_TRUE(refused);
      EXPECT_EQ(refused->why, Refused::Why::kCertificate);
      EXPECT_THAT(refused->line, HasSubstr("that of cn:bob has expired"));
    }
  }
}

TEST(Access, NamesAreOneLine) {
  EXPECT_EQ(NameOf({.peer = "x\ny", .user = {}}).find('\n'), std::string::npos);
  EXPECT_EQ(NameOf({.peer = "x", .user = 7}), "uid 7");
}

}  // namespace
}  // namespace baton::access
