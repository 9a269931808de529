// The file of --access: what it says, what is wrong with it, and how it is read again.
#include "app/daemon/access_file.h"

#include <unistd.h>

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace baton::app {
namespace {

using access::Role;
using access::Rule;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string WrongWith(const std::string& text) {
  const auto parsed = ParseAccessRules("access.yaml", text);
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(AccessRules, NameUsersAndGroups) {
  const auto parsed = ParseAccessRules("f",
                                       "rules:\n"
                                       "  - {user: root, role: read}\n"
                                       "  - {group: root, role: operate}\n"
                                       "  - user: 4711\n"
                                       "    role: lead\n"
                                       "  - {role: admin, group: 12}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(*parsed, ElementsAre(Rule{Rule::Kind::kUser, 0, Role::kRead},
                                   Rule{Rule::Kind::kGroup, 0, Role::kOperate},
                                   Rule{Rule::Kind::kUser, 4711, Role::kLead},
                                   Rule{Rule::Kind::kGroup, 12, Role::kAdmin}));
  const auto none = ParseAccessRules("f", "rules: []");
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(*none, IsEmpty());
}

TEST(AccessRules, WhatIsWrongHasALine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "expected rules"},
      {"rules: 7", "expected rules"},
      {"rules:\n- root", "access.yaml:2: expected rules"},
      {"rules:\n- {user: root}", "access.yaml:2: expected rules"},
      {"rules:\n- {role: read}", "expected rules"},
      {"rules:\n- {user: root, group: root}", "expected rules"},
      {"rules:\n- {user: root, role: god}",
       "access.yaml:2: \"god\" is not a role; expected read, lead, operate or admin"},
      {"rules:\n- {user: root, role: probe}", "is not a role"},
      {"rules:\n\n- {user: no-such-user-here, role: read}",
       "access.yaml:3: this host has no user \"no-such-user-here\""},
      {"rules:\n- {group: no-such-group-here, role: read}", "no group"},
      {"rules:\n- {user: -1, role: read}", "this host has no user \"-1\""},
      {"rules:\n- {user: 99999999999, role: read}", "this host has no user"},
      {"rules:\n- {usr: root, role: read}", "unknown key \"usr\""},
      {"rules: []\nanonymous: read", "expected rules"},
      {"rules: [", "this is not YAML"},
      {"rules:\n- {user: [root], role: read}", "expected rules"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_THAT(WrongWith(text), HasSubstr(expected)) << text;
}

TEST(AccessRules, AMissingFileSaysSo) {
  const auto read = ReadAccessFile("/no/such/file");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().message, HasSubstr("can't read /no/such/file"));
}

class AccessFileTest : public testing::Test {
 protected:
  AccessFileTest() { EXPECT_GE(mkstemp(path_.data()), 0); }
  ~AccessFileTest() override { unlink(path_.c_str()); }
  void Write(const std::string& text) { std::ofstream(path_) << text; }
  Role RoleOfStranger() const {
    return access_.RoleOf({.peer = "", .local = true, .user = geteuid() + 4711});
  }
  std::string StrangersRole(const std::string& role) const {
    return "rules:\n- {user: " + std::to_string(geteuid() + 4711) + ", role: " + role + "}\n";
  }

  std::string path_ = "/tmp/baton-access-XXXXXX";
  access::Access access_{{}};
};

TEST_F(AccessFileTest, IsReadAgainAndTheLastGoodOneCounts) {
  AccessFile file(path_, {});
  Write(StrangersRole("operate"));
  file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kOperate);
  for (const char* bad : {"rules: [", "rules:\n- {user: root, role: god}", ""}) {
    Write(bad);
    file.Look(access_);
    file.Look(access_);
    EXPECT_EQ(RoleOfStranger(), Role::kOperate) << bad;
  }
  unlink(path_.c_str());
  file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kOperate);
  Write(StrangersRole("lead"));
  file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kLead);
  Write("rules: []");
  file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kRead);
}

TEST_F(AccessFileTest, WithoutAPathNothingIsRead) {
  AccessFile file("", {});
  file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kRead);
}

}  // namespace
}  // namespace baton::app
