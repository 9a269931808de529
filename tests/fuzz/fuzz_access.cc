// access: the file of batond's --access, and the header `authorization` of a caller.
//
// Must hold: the file gives rules, or a refusal in one line that begins with its name. A caller who
// sends a token has the role of that token, or none; its name and each refusal are one line.
#include <algorithm>

#include "access/access.h"
#include "app/daemon/access_file.h"
#include "fuzz/targets.h"

namespace baton::fuzz {
namespace {

using access::Access;
using access::Role;

constexpr const char* kDigestOfAbc =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

void JudgeCaller(const access::Rules& rules, const access::Shown& shown) {
  Access access({.this_host = Role::kAdmin, .other_hosts = Role::kAdmin});
  access.SetRules(rules);
  const bool sent = access::TokenIn(shown.authorization.front()).has_value();
  for (const char* peer : {"ipv4:127.0.0.1:5", "ipv4:10.0.0.1:5"}) {
    const access::Caller caller = access.Identified({.peer = peer}, shown, {});
    Must(sent == (!caller.token.empty() || !caller.bad_token.empty()),
         "a token counts or does not");
    MustBeOneLine(access::NameOf(caller));
    const auto named = [&](const access::TokenRule& rule) { return rule.name == caller.token; };
    if (!caller.token.empty()) {
      const auto rule = std::ranges::find_if(rules.tokens, named);
      Must(rule != rules.tokens.end() && access.RoleOf(caller) == rule->role,
           "a token has its role");
    }
    const auto refused = access.Refusal(caller, Role::kProbe);
    const bool nothing = access.RoleOf(caller) == Role::kNone;
    Must(refused.has_value() == (nothing || !caller.bad_token.empty()),
         "only who has no role, or a bad token, is refused probes");
    if (refused) MustBeOneLine(refused->line);
  }
}

}  // namespace

void RunAccess(std::string_view bytes) {
  Input input(bytes);
  const std::string header(input.Part());
  const auto rules = app::ParseAccessRules("access.yaml", std::string(input.Rest()));
  if (!rules) {
    MustBeOneLine(rules.error().message);
    Must(rules.error().message.starts_with("access.yaml:"), "a refusal names the file");
  }
  JudgeCaller(rules ? *rules : access::Rules{}, {.authorization = {header}, .secure = false});
}

std::vector<Seed> AccessSeeds() {
  const auto of = [](const std::string& header, const std::string& text) {
    return PartBytes(header) + text;
  };
  const std::string token = std::string("{token: ci, sha256: ") + kDigestOfAbc + ", role: operate";
  return {
      {"users", of("", "rules:\n- {user: root, role: admin}\n- {user: 12, role: read}\n")},
      {"certificates", of("Basic YTpi", "rules:\n- {certificate: \"cn:a*\", role: lead}\n")},
      {"token", of("Bearer abc", "rules:\n- " + token + "}\n")},
      {"token-until", of("bearer abc", "rules:\n- " + token + ", until: 2027-01-01T00:00:00Z}\n")},
      {"token-wrong", of("Bearer \xff\x01", "rules:\n- " + token + "}\nthis_host: probe\n")},
      {"none", of("Bearer abc", "rules:\n- {user: 12, role: none}\nother_hosts: none\n")},
      {"defaults", of("Bearer", "this_host: probe\nother_hosts: operate\n")},
      {"no-yaml", of("x", "rules: [\n")}};
}

}  // namespace baton::fuzz
