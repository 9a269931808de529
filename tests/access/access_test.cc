// Who may do what.
#include "access/access.h"

#include <unistd.h>

#include <algorithm>

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "baton/v1/admin.pb.h"

namespace baton::access {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Caller Local(std::optional<uid_t> user) { return {.peer = "ipv4:127.0.0.1:5", .user = user}; }
const Caller kRemote{.peer = "ipv4:10.0.0.1:5", .user = std::nullopt};
const uid_t kStranger = geteuid() + 4711;

// Plan: each method of the service has a row, and no row is of a method that is gone.
TEST(Access, EveryMethodHasARow) {
  const auto* service =
      v1::GetStatusRequest::descriptor()->file()->FindServiceByName("AdminService");
  ASSERT_NE(service, nullptr);
  for (int m = 0; m < service->method_count(); ++m) {
    const std::string& method = service->method(m)->name();
    EXPECT_TRUE(RoleFor(method).has_value()) << method << " needs a row in src/access/access.cc";
  }
  for (const std::string_view method : MethodsWithRoles()) {
    EXPECT_NE(service->FindMethodByName(std::string(method)), nullptr) << method;
  }
  EXPECT_FALSE(RoleFor("NoSuchMethod").has_value());
}

TEST(Access, RolesHaveWords) {
  for (const Role role : {Role::kRead, Role::kOperate}) EXPECT_EQ(RoleNamed(ToString(role)), role);
  EXPECT_FALSE(RoleNamed("root").has_value());
  EXPECT_FALSE(RoleNamed("").has_value());
}

TEST(Access, RootAndOurOwnUserOperateOthersRead) {
  const Access access({});
  EXPECT_EQ(access.RoleOf(Local(0)), Role::kOperate);
  EXPECT_EQ(access.RoleOf(Local(geteuid())), Role::kOperate);
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kRead);
  EXPECT_EQ(access.RoleOf(Local(std::nullopt)), Role::kRead);
  EXPECT_EQ(access.RoleOf(kRemote), Role::kRead);
}

TEST(Access, DefaultsAreForThoseWithoutARule) {
  const Access access({.this_host = Role::kOperate, .other_hosts = Role::kRead});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kOperate);
  EXPECT_EQ(access.RoleOf(Local(std::nullopt)), Role::kOperate);
  EXPECT_EQ(access.RoleOf(kRemote), Role::kRead);
}

TEST(Access, TheFirstRuleForAUserDecides) {
  Access access({});
  access.SetRules(
      {{kStranger, Role::kOperate}, {kStranger, Role::kRead}, {geteuid(), Role::kRead}});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kOperate);
  EXPECT_EQ(access.RoleOf(Local(geteuid())), Role::kRead) << "a rule comes before the default";
  EXPECT_EQ(access.RoleOf(Local(std::nullopt)), Role::kRead);
  access.SetRules({});
  EXPECT_EQ(access.RoleOf(Local(kStranger)), Role::kRead);
}

TEST(Access, ARefusalNamesTheCallerTheRoleAndWhatToDo) {
  const Access access({});
  EXPECT_FALSE(access.Refusal(Local(geteuid()), Role::kOperate).has_value());
  EXPECT_FALSE(access.Refusal(kRemote, Role::kRead).has_value());
  const auto stranger = access.Refusal(Local(kStranger), Role::kOperate);
  ASSERT_TRUE(stranger.has_value());
  EXPECT_THAT(*stranger, StartsWith("uid " + std::to_string(kStranger) + " may not do this"));
  EXPECT_THAT(*stranger, HasSubstr("role operate"));
  EXPECT_THAT(*stranger, HasSubstr("--access"));
  EXPECT_THAT(*access.Refusal(kRemote, Role::kOperate), HasSubstr("--allow-remote-admin"));
  EXPECT_THAT(*access.Refusal(Local(std::nullopt), Role::kOperate), HasSubstr("try again"));
}

TEST(Access, NamesAreOneLine) {
  EXPECT_EQ(NameOf({.peer = "x\ny", .user = {}}).find('\n'), std::string::npos);
  EXPECT_EQ(NameOf({.peer = "x", .user = 7}), "uid 7");
}

}  // namespace
}  // namespace baton::access
