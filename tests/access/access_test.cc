// Who may do what.
#include "access/access.h"

#include <unistd.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "baton/v1/admin.grpc.pb.h"
#include "baton/v1/routing.grpc.pb.h"
#include "baton/v1/sidecar.grpc.pb.h"

namespace baton::access {
namespace {

using ::testing::HasSubstr;

Caller Local(std::optional<uid_t> user) {
  return {.peer = "ipv4:127.0.0.1:5", .local = true, .user = user};
}
const Caller kRemote{.peer = "ipv4:10.0.0.1:5", .local = false, .user = std::nullopt};
const uid_t kStranger = geteuid() + 4711;

// Plan: of all methods that Baton serves each has a row, and no row is of a method that is gone.
TEST(Access, EveryMethodHasARow) {
  std::vector<std::string> methods;
  for (const google::protobuf::FileDescriptor* file :
       {v1::GetStatusRequest::descriptor()->file(), v1::LookupRequest::descriptor()->file(),
        v1::AttachRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back("/" + file->service(s)->full_name() + "/" +
                          file->service(s)->method(m)->name());
      }
    }
  }
  EXPECT_GE(methods.size(), 19U);
  for (const std::string& method : methods) {
    EXPECT_TRUE(RoleFor(method).has_value()) << method << " needs a row in src/access/access.cc";
  }
  for (const std::string_view name : NamesWithRoles()) {
    if (!name.starts_with("/baton.")) continue;
    EXPECT_NE(std::find(methods.begin(), methods.end(), name), methods.end()) << name;
  }
  EXPECT_FALSE(RoleFor("/baton.v1.AdminService/NoSuchMethod").has_value());
}

TEST(Access, RolesIncludeWhatTheirWordsSay) {
  EXPECT_TRUE(Includes(Role::kAdmin, Role::kLead));
  EXPECT_TRUE(Includes(Role::kAdmin, Role::kOperate));
  EXPECT_TRUE(Includes(Role::kOperate, Role::kRead));
  EXPECT_TRUE(Includes(Role::kLead, Role::kRead));
  EXPECT_TRUE(Includes(Role::kRead, Role::kProbe));
  EXPECT_FALSE(Includes(Role::kOperate, Role::kLead));
  EXPECT_FALSE(Includes(Role::kLead, Role::kOperate));
  EXPECT_FALSE(Includes(Role::kOperate, Role::kAdmin));
  EXPECT_FALSE(Includes(Role::kProbe, Role::kRead));
  for (const Role role : {Role::kProbe, Role::kRead, Role::kLead, Role::kOperate, Role::kAdmin}) {
    EXPECT_EQ(RoleNamed(ToString(role)), role);
  }
  EXPECT_FALSE(RoleNamed("root").has_value());
}

TEST(Access, RootAndOurOwnUserMayDoEverythingOthersRead) {
  const Access access({});
  EXPECT_EQ(access.RoleOf(Local(0)), Role::kAdmin);
  EXPECT_EQ(access.RoleOf(Local(geteuid())), Role::kAdmin);
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kRead);
  EXPECT_EQ(access.RoleOf(Local(std::nullopt)), Role::kRead);
  EXPECT_EQ(access.RoleOf(kRemote), Role::kRead);
}

TEST(Access, DefaultsAreForThoseWithoutARule) {
  const Access access({.this_host = Role::kOperate, .other_hosts = Role::kRead});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kOperate);
  EXPECT_EQ(access.RoleOf(kRemote), Role::kRead);
}

TEST(Access, TheFirstRuleThatFitsDecides) {
  Access access({});
  access.SetRules({{Rule::Kind::kUser, kStranger, Role::kLead},
                   {Rule::Kind::kUser, kStranger, Role::kAdmin},
                   {Rule::Kind::kUser, geteuid(), Role::kRead}});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kLead);
  EXPECT_EQ(access.RoleOf(Local(geteuid())), Role::kRead) << "a rule comes before the default";
  access.SetRules({});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kRead);
}

TEST(Access, AGroupsMembersGetItsRole) {
  Access access({});
  access.SetRules({{Rule::Kind::kGroup, getegid(), Role::kLead},
                   {Rule::Kind::kGroup, 4'000'000, Role::kAdmin}});
  // Users without an entry in the host's database are in no group.
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kRead);
  if (geteuid() != 0 || getegid() != 0) GTEST_SKIP() << "not root: our groups are not known";
  EXPECT_EQ(access.RoleOf(Local(0)), Role::kLead);
}

TEST(Access, ARefusalNamesTheCallerTheRoleAndWhatToDo) {
  const Access access({});
  EXPECT_FALSE(access.Refusal(Local(geteuid()), Role::kOperate).has_value());
  EXPECT_FALSE(access.Refusal(kRemote, Role::kRead).has_value());
  const auto stranger = access.Refusal(Local(kStranger), Role::kOperate);
  ASSERT_TRUE(stranger.has_value());
  EXPECT_THAT(*stranger, HasSubstr("uid " + std::to_string(kStranger) + " may not do this"));
  EXPECT_THAT(*stranger, HasSubstr("role operate"));
  EXPECT_THAT(*stranger, HasSubstr("--access"));
  EXPECT_THAT(*access.Refusal(kRemote, Role::kOperate), HasSubstr("--allow-remote-admin"));
  EXPECT_THAT(*access.Refusal(Local(std::nullopt), Role::kOperate), HasSubstr("which user"));
}

}  // namespace
}  // namespace baton::access
