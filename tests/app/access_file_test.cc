// The file of --access: what it says, what is wrong with it, and how it is read again.
#include "app/daemon/access_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace baton::app {
namespace {

using access::CertificateRule;
using access::Role;
using access::Rule;
using access::Rules;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string WrongWith(const std::string& text) {
  const auto parsed = ParseAccessRules("access.yaml", text);
  return parsed.ok() ? "" : parsed.error().message;
}

TEST(AccessRules, NameUsers) {
  const auto parsed = ParseAccessRules("f",
                                       "rules:\n"
                                       "  - {user: root, role: read}\n"
                                       "  - user: 4711\n"
                                       "    role: operate\n"
                                       "  - {role: read, user: 12}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(parsed->users,
              ElementsAre(Rule{0, Role::kRead}, Rule{4711, Role::kOperate}, Rule{12, Role::kRead}));
  EXPECT_FALSE(parsed->this_host || parsed->other_hosts);
  const auto none = ParseAccessRules("f", "rules: []");
  ASSERT_TRUE(none.ok());
  EXPECT_THAT(none->users, IsEmpty());
}

TEST(AccessRules, SayWhatEverybodyElseMay) {
  const auto parsed = ParseAccessRules("f", "this_host: probe\nother_hosts: admin\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(*parsed, (Rules{.users = {}, .this_host = Role::kProbe, .other_hosts = Role::kAdmin}));
}

TEST(AccessRules, NameCertificates) {
  const auto parsed = ParseAccessRules("f",
                                       "rules:\n"
                                       "- {certificate: \"spiffe://a/ops/*\", role: operate}\n"
                                       "- {user: 12, role: read}\n"
                                       "- {role: lead, certificate: dns:app.example}\n"
                                       "- {certificate: \"*\", role: read}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(parsed->certificates, ElementsAre(CertificateRule{"spiffe://a/ops/*", Role::kOperate},
                                                CertificateRule{"dns:app.example", Role::kLead},
                                                CertificateRule{"*", Role::kRead}));
  EXPECT_THAT(parsed->users, ElementsAre(Rule{12, Role::kRead}));
  for (const char* name : {"bob", "spiffe:/a", "cn:a*b", "**", ""}) {
    const std::string text = std::string("rules:\n- {certificate: \"") + name + "\", role: read}";
    EXPECT_THAT(WrongWith(text), HasSubstr("can't name a certificate")) << name;
  }
}

TEST(AccessRules, NameGroups) {
  const auto parsed = ParseAccessRules("f",
                                       "rules:\n- {group: root, role: lead}\n"
                                       "- {role: operate, group: 4711}\n"
                                       "- {group: no-such-group-here, role: read}\n"
                                       "- {user: root, role: read}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(parsed->users,
              ElementsAre(Rule{0, Role::kLead, Rule::For::kGroup},
                          Rule{4711, Role::kOperate, Rule::For::kGroup}, Rule{0, Role::kRead}));
}

const std::string kDigits =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // of "abc"

TEST(AccessRules, NameTokens) {
  const auto parsed = ParseAccessRules("f",
                                       "rules:\n"
                                       "- {token: ci, sha256: \"" +
                                           kDigits +
                                           "\", role: operate, until: 2027-01-02T03:04:05Z}\n"
                                           "- {role: read, sha256: " +
                                           std::string(64, '1') + ", token: scrape}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  using namespace std::chrono_literals;
  const auto until = std::chrono::sys_days{2027y / 1 / 2} + 3h + 4min + 5s;
  EXPECT_THAT(
      parsed->tokens,
      ElementsAre(access::TokenRule{"ci", access::DigestOf("abc"), Role::kOperate, until},
                  access::TokenRule{
                      "scrape", *access::DigestNamed(std::string(64, '1')), Role::kRead, {}}));
}

// Plan: times that the clock, which counts nanoseconds, can't hold: both sides of 1677 to 2262.
TEST(AccessRules, ATokenMayBeForEver) {
  const auto until = [](const std::string& year) {
    const auto parsed =
        ParseAccessRules("f", "rules:\n- {token: ci, sha256: \"" + kDigits +
                                  "\", role: operate, until: " + year + "-01-01T00:00:00Z}\n");
    EXPECT_TRUE(parsed.ok());
    return parsed.ok() ? *parsed->tokens.front().until : std::chrono::system_clock::time_point{};
  };
  using namespace std::chrono_literals;
  EXPECT_EQ(until("9999"), std::chrono::sys_days(2262y / 1 / 1));
  EXPECT_EQ(until("0001"), std::chrono::sys_days(1970y / 1 / 1));
}

TEST(AccessRules, OfTokensHaveLinesForWhatIsWrong) {
  const std::string good = "- {token: ci, role: read, sha256: " + kDigits;
  const std::pair<std::string, const char*> cases[] = {
      {"- {token: ci, role: read}", "expected a list"},
      {"- {token: ci, sha256: " + kDigits + "}", "expected a list"},
      {"- {sha256: " + kDigits + ", role: read}", "expected a list"},
      {"- {user: root, role: read, until: 2027-01-01T00:00:00Z}", "expected a list"},
      {good + ", user: root}", "expected a list"},
      {good + ", token: ci}", "expected a list"},
      {"- {token: a b, role: read, sha256: " + kDigits + "}", "\"a b\" can't name a token"},
      {"- {token: ci, role: read, sha256: abc}", "f:2: this is not a SHA-256"},
      {good + ", until: 2027-01-01}", "\"2027-01-01\" is not a time; expected UTC"},
      {good + ", until: 2027-02-30T00:00:00Z}", "is not a time"},
      {good + ", until: 2027-01-01T24:00:00Z}", "is not a time"},
      {good + ", until: 2027-01-01T00:00:00+}", "is not a time"},
      {"- {token: ci, role: lead, sha256: " + kDigits + "}",
       "f:2: the token ci has the role lead, but no application attaches by a token"},
      {good + "}\n" + good + "}", "f:3: the tokens ci and ci have the same name"},
      {good + "}\n- {token: b, role: read, sha256: " + kDigits + "}",
       "f:3: the tokens ci and b have the same SHA-256"},
  };
  for (const auto& [text, expected] : cases) {
    const auto parsed = ParseAccessRules("f", "rules:\n" + text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.error().message, HasSubstr(expected)) << text;
  }
}

TEST(AccessRules, CanGiveNothing) {
  const auto parsed =
      ParseAccessRules("f",
                       "rules:\n- {user: 5, role: none}\n- {certificate: \"cn:a\", role: none}\n"
                       "other_hosts: none\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(parsed->users, ElementsAre(Rule{5, Role::kNone}));
  EXPECT_THAT(parsed->certificates, ElementsAre(CertificateRule{"cn:a", Role::kNone}));
  EXPECT_EQ(parsed->other_hosts, Role::kNone);
}

// Plan: somebody is deleted from the host. The rules for the others count.
TEST(AccessRules, ForAUserWhomTheHostDoesNotHaveCountForNobody) {
  const auto parsed = ParseAccessRules(
      "f", "rules:\n- {user: no-such-user-here, role: operate}\n- {user: 5, role: operate}\n");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_THAT(parsed->users, ElementsAre(Rule{5, Role::kOperate}));
}

TEST(AccessRules, WhatIsWrongHasALine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "access.yaml: the file is empty; expected rules, this_host or other_hosts"},
      {"# nothing yet\n",
       "access.yaml: the file is empty; expected rules, this_host or other_hosts"},
      {"{}", "expected rules, this_host or other_hosts"},
      {"rules: 7", "expected a list of {user: NAME, role: ROLE}"},
      {"rules:\n- root", "access.yaml:2: expected a list"},
      {"rules:\n- {user: root}", "access.yaml:2: expected a list"},
      {"rules:\n- {role: read}", "expected a list"},
      {"rules:\n- {user: root, user: root}", "expected a list"},
      {"rules:\n- {user: root, role: god}",
       "access.yaml:2: \"god\" is not a role; expected none, probe, read, operate, lead or admin"},
      {"rules: []\nthis_host: all", "access.yaml:2: \"all\" is not a role"},
      {"this_host: [read]", "is not a role"},
      {"this_host: read\nthis_host: probe", "access.yaml:2: \"this_host\" is there twice"},
      {"rules:\n\n- {usr: root, role: read}", "access.yaml:3: unknown key \"usr\""},
      {"rules: []\nanonymous: read", "access.yaml:2: unknown key \"anonymous\"; expected rules"},
      {"rules: [", "this is not YAML"},
      {"this_host: read\n---\nother_hosts: none\n", "access.yaml:2: a second YAML document"},
      {"{this_host: read}, x\n", "access.yaml:1: a second YAML document"},
      {"rules:\n- {user: [root], role: read}", "expected a list"},
      {"rules:\n- {user: root, group: root, role: read}", "expected a list"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(WrongWith(text), HasSubstr(expected)) << text;
  }
}

// Plan: YAML's reader repeats a byte of the text, which steers terminals.
TEST(AccessRules, WhatIsWrongIsOneLine) {
  EXPECT_THAT(WrongWith("rules: \"\\\x01\""), HasSubstr("unknown escape character: \\u0001"));
}

class AccessFileTest : public testing::Test {
 protected:
  AccessFileTest() {
    const int fd = mkstemp(path_.data());
    EXPECT_GE(fd, 0);
    close(fd);
  }
  ~AccessFileTest() override { unlink(path_.c_str()); }
  void Write(const std::string& text) { std::ofstream(path_) << text; }
  std::string WhyNot() const {
    const auto read = ReadAccessFile(path_);
    return read.ok() ? "" : read.error().message;
  }
  Role RoleOfStranger() const {
    return access_.RoleOf({.peer = "ipv4:127.0.0.1:5", .user = geteuid() + 4711});
  }
  static std::string StrangersRole(const std::string& role) {
    return "rules:\n- {user: " + std::to_string(geteuid() + 4711) + ", role: " + role + "}\n";
  }

  std::string path_ = "/tmp/baton-access-XXXXXX";
  access::Access access_{{}};
};

TEST_F(AccessFileTest, IsReadAgainAndTheLastGoodOneCounts) {
  AccessFile file(path_, "");
  Write(StrangersRole("operate"));
  file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kRead) << "somebody may still be writing";
  file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kOperate);
  for (const char* bad : {"rules: [", "rules:\n- {user: root, role: god}", ""}) {
    Write(bad);
    for (int i = 0; i < 3; ++i) file.Look(access_);
    EXPECT_EQ(RoleOfStranger(), Role::kOperate) << bad;
  }
  unlink(path_.c_str());
  for (int i = 0; i < 3; ++i) file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kOperate);
  Write("rules: []");
  for (int i = 0; i < 2; ++i) file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kRead);
}

TEST_F(AccessFileTest, WithoutAPathNothingIsRead) {
  AccessFile file("", "");
  file.Look(access_);
  EXPECT_EQ(RoleOfStranger(), Role::kRead);
}

// A user who can write the file can give any role.
TEST_F(AccessFileTest, IsRefusedIfOthersCanWriteIt) {
  EXPECT_EQ(WhyNot(), "");
  ASSERT_EQ(chmod(path_.c_str(), 0646), 0);
  EXPECT_THAT(WhyNot(), HasSubstr("every user may write to it"));
  ASSERT_EQ(chmod(path_.c_str(), 0644), 0);
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  ASSERT_EQ(chown(path_.c_str(), 4711, 4711), 0);
  EXPECT_THAT(WhyNot(), HasSubstr("belongs to uid 4711"));
}

TEST_F(AccessFileTest, IsARegularFile) {
  unlink(path_.c_str());
  EXPECT_THAT(WhyNot(), HasSubstr("No such file"));
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(WhyNot(), HasSubstr("not a regular file")) << "a pipe would block for ever";
}

}  // namespace
}  // namespace baton::app
