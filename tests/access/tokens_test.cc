// Tokens: what counts as one, and who a caller with one is.
#include "access/tokens.h"

#include <unistd.h>

#include <chrono>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "access/access.h"

namespace baton::access {
namespace {

using namespace std::chrono_literals;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kDigestOfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";  // FIPS 180-2
constexpr std::chrono::system_clock::time_point kNow = std::chrono::sys_days{2026y / 11 / 26};

TEST(Tokens, DigestsAreSha256InHex) {
  ASSERT_TRUE(DigestNamed(kDigestOfAbc).has_value());
  EXPECT_TRUE(IsSame(DigestOf("abc"), *DigestNamed(kDigestOfAbc)));
  EXPECT_FALSE(IsSame(DigestOf("abd"), *DigestNamed(kDigestOfAbc)));
  std::string upper = kDigestOfAbc;
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(DigestNamed(upper), DigestNamed(kDigestOfAbc));
  const std::string digits(64, '0');
  for (const std::string& wrong :
       {std::string(), digits + "0", digits.substr(1), digits.substr(1) + "g",
        digits.substr(2) + "-1", digits.substr(2) + " 1", digits.substr(2) + "0x"}) {
    EXPECT_FALSE(DigestNamed(wrong).has_value()) << wrong;
  }
}

TEST(Tokens, FollowTheWordBearer) {
  EXPECT_EQ(TokenIn("Bearer abc"), "abc");
  EXPECT_EQ(TokenIn("bEARER   a b "), "a b ");
  EXPECT_EQ(TokenIn("Bearer"), "");
  EXPECT_EQ(TokenIn("Bearer "), "");
  for (const char* other : {"", "Bear", "Bearers abc", "Basic YTpi", "abc", " Bearer abc"}) {
    EXPECT_FALSE(TokenIn(other).has_value()) << other;
  }
}

class TokensOfCallers : public testing::Test {
 protected:
  TokensOfCallers() {
    access_.SetRules({.users = {{geteuid(), Role::kAdmin}},
                      .certificates = {{"*", Role::kAdmin}},
                      .tokens = {{"ci", DigestOf("secret"), Role::kOperate, kNow + 1s},
                                 {"old", DigestOf("past"), Role::kOperate, kNow},
                                 {"scrape", DigestOf("\xff x"), Role::kRead, {}}}});
  }
  Caller With(std::vector<std::string> headers, Caller caller, bool secure = false) const {
    return access_.Identified(std::move(caller),
                              {.authorization = std::move(headers), .secure = secure}, kNow);
  }
  std::optional<Refused> Refusal(const Caller& caller) const {
    return access_.Refusal(caller, Role::kProbe);
  }

  Access access_{{.this_host = Role::kAdmin, .other_hosts = Role::kAdmin}};
  const Caller local_{.peer = "ipv4:127.0.0.1:5", .user = geteuid()};
  const Caller remote_{.peer = "ipv4:10.0.0.1:5", .certificate = "cn:a"};
};

// Plan: callers who could do everything have what their tokens have.
TEST_F(TokensOfCallers, GiveTheirRoleAndNoOther) {
  for (const Caller& caller :
       {With({"Bearer secret"}, local_), With({"Bearer secret"}, remote_, true),
        With({"Basic x", "bearer secret"}, {.peer = "unix:"})}) {
    EXPECT_EQ(NameOf(caller), "token ci");
    EXPECT_EQ(LimitedAs(caller), "token ci");
    EXPECT_EQ(access_.RoleOf(caller), Role::kOperate);
    EXPECT_FALSE(access_.Refusal(caller, Role::kOperate));
    EXPECT_EQ(access_.Refusal(caller, Role::kLead)->line,
              "token ci may not do this: it needs the role lead; --access of the node gives roles "
              "to tokens");
  }
  EXPECT_EQ(access_.RoleOf(With({"Bearer \xff x"}, local_)), Role::kRead) << "any bytes";
  EXPECT_EQ(access_.RoleOf(With({}, local_)), Role::kAdmin);
  EXPECT_EQ(access_.RoleOf(With({"Basic YTpi"}, local_)), Role::kAdmin) << "this is no token";
}

// Plan: each of them could do everything without the token that it sends.
TEST_F(TokensOfCallers, ThatDoNotCountAreRefusedEverything) {
  const std::pair<Caller, const char*> cases[] = {
      {With({"Bearer wrong"}, local_), "--access of the node has no such token"},
      {With({"Bearer past"}, local_), "the token old has expired"},
      {With({"Bearer "}, local_), "expected 1 to 4096 bytes"},
      {With({"Bearer " + std::string(4097, 'a')}, local_), "expected 1 to 4096 bytes"},
      {With({"Bearer secret", "Bearer secret"}, local_), "there are two"},
      {With({"Bearer secret"}, remote_), "crossed the network unencrypted; replace it"},
      {With({"Bearer wrong"}, remote_), "crossed the network unencrypted; replace it"},
  };
  for (const auto& [caller, why] : cases) {
    const auto refused = Refusal(caller);
    ASSERT_TRUE(refused.has_value()) << why;
    EXPECT_EQ(refused->why, Refused::Why::kToken);
    EXPECT_THAT(refused->line, HasSubstr(" sent a token that does not count: "));
    EXPECT_THAT(refused->line, EndsWith(why));
    EXPECT_THAT(refused->line, Not(HasSubstr("secret")));
    EXPECT_EQ(access_.RoleOf(caller), Role::kProbe);
    EXPECT_EQ(access_.RefuseRead(caller, *DemandOf("GetStatus"), "GetStatus")->why,
              Refused::Why::kToken);
  }
}

// Plan: the rules lose a token between its check and its use. On a host whose callers have no role
// it is no way to get one, and elsewhere the caller is not taken for one without a token.
TEST_F(TokensOfCallers, ThatAreTakenAwayGiveNothing) {
  for (const Caller& caller :
       {With({"Bearer secret"}, local_), With({"Bearer secret"}, remote_, true)}) {
    access_.SetRules({.users = {{geteuid(), Role::kNone}}, .other_hosts = Role::kNone});
    EXPECT_EQ(access_.RoleOf(caller), Role::kNone);
    access_.SetRules({});
    EXPECT_EQ(access_.RoleOf(caller), Role::kProbe);
    const auto refused = Refusal(caller);
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->why, Refused::Why::kToken);
    EXPECT_EQ(refused->line,
              "token ci sent a token that does not count: --access of the node has no such token");
  }
}

// Servers of programs that embed a node may use the header for services of their own.
TEST(Tokens, AreIgnoredIfTheServerSaysSo) {
  Access access({.tokens = Access::Tokens::kIgnored});
  const Caller caller =
      access.Identified({.peer = "ipv4:10.0.0.1:5"}, {.authorization = {"Bearer whatever"}}, kNow);
  EXPECT_EQ(caller.bad_token, "");
  EXPECT_FALSE(access.Refusal(caller, Role::kRead));
}

// batond's flags, and a wait for the kernel that nobody asks, would be bad advice there. And the
// program may have a log of its own.
TEST(Tokens, AnEmbeddingProgramsRefusalsNameItsOptionsAndAreNotLogged) {
  const Access access({.tokens = Access::Tokens::kIgnored});
  testing::internal::CaptureStderr();
  for (const char* const peer : {"ipv4:127.0.0.1:5", "ipv4:10.0.0.1:5"}) {
    const auto refused = access.RefuseRead({.peer = peer}, {.role = Role::kOperate}, "x");
    ASSERT_TRUE(refused.has_value());
    EXPECT_EQ(refused->why, Refused::Why::kRole);
    EXPECT_THAT(refused->line, testing::EndsWith("the program's AdminOptions say who has it "
                                                 "(operators, allow_remote)"));
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace baton::access
