#include "app/daemon/access_file.h"

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "access/user_groups.h"
#include "app/common/yaml_document.h"
#include "base/log.h"
#include "base/small_file.h"
#include "base/text_rules.h"
#include "base/timestamp.h"

namespace baton::app {
namespace {

using access::Rules;

constexpr std::size_t kMaxRules = 1000;
constexpr const char* kForm =
    "expected a list of {user: NAME, role: ROLE}, {group: NAME, role: ROLE}, {certificate: NAME, "
    "role: ROLE} or {token: NAME, "
    "sha256: DIGITS, role: ROLE, until: TIME}";
constexpr std::string_view kEntryKeys[] = {"role",  "user",   "group", "certificate",
                                           "token", "sha256", "until"};
constexpr const char* kKeys = "expected rules, this_host or other_hosts";

/// Reads a number, or a name for which `look` asks the host's database with a buffer; it answers as
/// getpwnam_r does. A name that the host does not have is unset.
using Look = std::function<int(std::vector<char>& buffer, std::optional<id_t>& found)>;
Result<std::optional<id_t>> IdNamed(const char* kind, const std::string& name, const Look& look) {
  id_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, failed] = std::from_chars(name.data(), end, number);
  if (!name.empty() && failed == std::errc() && stop == end) return std::optional(number);
  std::vector<char> buffer;
  std::optional<id_t> found;
  const int wrong = access::AskDatabase(buffer, [&] { return look(buffer, found); });
  if (found || wrong == 0 || wrong == ENOENT || wrong == ESRCH) return found;
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("can't ask this host for the {} {}: {}", kind, QuotedWord(name),
                           std::generic_category().message(wrong))};
}

Result<std::optional<id_t>> UserNamed(const std::string& name) {
  return IdNamed("user", name, [&name](std::vector<char>& buffer, std::optional<id_t>& found) {
    passwd entry{};
    passwd* result = nullptr;
    const int wrong = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &result);
    if (result != nullptr) found = result->pw_uid;
    return wrong;
  });
}

Result<std::optional<id_t>> GroupNamed(const std::string& name) {
  return IdNamed("group", name, [&name](std::vector<char>& buffer, std::optional<id_t>& found) {
    group entry{};
    group* result = nullptr;
    const int wrong = getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &result);
    if (result != nullptr) found = result->gr_gid;
    return wrong;
  });
}

Result<access::Role> RoleAt(const std::string& path, const YAML::Node& node) {
  const std::string text = node.IsScalar() ? node.Scalar() : "this";
  if (const auto role = access::RoleNamed(text)) return *role;
  std::string words;
  for (const access::Role role : access::kRoles) {
    words += (words.empty() ? "" : role == access::Role::kAdmin ? " or " : ", ");
    words += access::ToString(role);
  }
  return YamlFault(path, node, QuotedWord(text) + " is not a role; expected " + words);
}

/// One entry of the list; keys that it does not have are unset.
struct Entry {
  std::optional<access::Role> role;
  std::map<std::string, YAML::Node> values;  ///< scalars, by key

  bool Has(const char* key) const { return values.contains(key); }
  const std::string& Text(const char* key) const { return values.at(key).Scalar(); }
};

Result<Entry> EntryOf(const std::string& path, const YAML::Node& node) {
  if (!node.IsMap()) return YamlFault(path, node, kForm);
  Entry entry;
  for (const auto& pair : node) {
    if (!pair.first.IsScalar() || !pair.second.IsScalar()) return YamlFault(path, node, kForm);
    const std::string& key = pair.first.Scalar();
    const bool known = std::ranges::find(kEntryKeys, key) != std::end(kEntryKeys);
    if (!known)
      return YamlFault(path, pair.first, fmt::format("unknown key {}; {}", QuotedWord(key), kForm));
    if (!entry.values.emplace(key, pair.second).second) return YamlFault(path, node, kForm);
    if (key != "role") continue;
    const auto named = RoleAt(path, pair.second);
    if (!named) return named.error();
    entry.role = *named;
  }
  const std::size_t size = entry.values.size();
  const bool simple =
      size == 2 && (entry.Has("user") || entry.Has("group") || entry.Has("certificate"));
  const bool token = entry.Has("token") && entry.Has("sha256") &&
                     size == (entry.Has("until") ? std::size_t{4} : std::size_t{3});
  if (!entry.role || !(simple || token)) return YamlFault(path, node, kForm);
  return entry;
}

Status CheckCertificateName(const std::string& path, const YAML::Node& node,
                            const std::string& name) {
  if (IsCertificatePattern(name)) return Ok();
  return YamlFault(path, node,
                   QuotedWord(name) + " can't name a certificate; expected " +
                       std::string(kCertificatePatterns));
}

constexpr std::chrono::sys_seconds kFirstTime =
    std::chrono::sys_days(std::chrono::January / 1 / 1970);
constexpr std::chrono::sys_seconds kLastTime =
    std::chrono::sys_days(std::chrono::January / 1 / 2262);

Status AddToken(const std::string& path, const Entry& entry, Rules& rules) {
  access::TokenRule rule{.name = entry.Text("token"), .role = *entry.role};
  if (!IsName(rule.name)) {
    return YamlFault(
        path, entry.values.at("token"),
        fmt::format("{} can't name a token; expected {}", QuotedWord(rule.name), kNameRule));
  }
  if (rule.role == access::Role::kLead) {
    return YamlFault(
        path, entry.values.at("token"),
        fmt::format("the token {} has the role lead, but no application attaches by a token; "
                    "give that role to its user or certificate",
                    rule.name));
  }
  const auto digest = access::DigestNamed(entry.Text("sha256"));
  if (!digest) {
    return YamlFault(
        path, entry.values.at("sha256"),
        "this is not a SHA-256; expected 64 hexadecimal digits, such as sha256sum prints");
  }
  rule.sha256 = *digest;
  if (entry.Has("until")) {
    const auto until = TimeNamed(entry.Text("until"));
    // The clock counts nanoseconds, from 1677 to 2262: later is never, and earlier is over.
    if (until) rule.until = std::clamp(*until, kFirstTime, kLastTime);
    if (!rule.until) {
      return YamlFault(path, entry.values.at("until"),
                       QuotedWord(entry.Text("until")) +
                           " is not a time; expected UTC in seconds, such as 2027-01-01T00:00:00Z");
    }
  }
  for (const access::TokenRule& other : rules.tokens) {
    if (other.name != rule.name && other.sha256 != rule.sha256) continue;
    return YamlFault(path, entry.values.at("token"),
                     fmt::format("the tokens {} and {} have the same {}", other.name, rule.name,
                                 other.name == rule.name ? "name" : "SHA-256"));
  }
  rules.tokens.push_back(std::move(rule));
  return Ok();
}

/// Adds a rule for a user, or for a group.
Status AddUsers(const std::string& path, const Entry& entry, Rules& rules) {
  const bool group = entry.Has("group");
  const char* const key = group ? "group" : "user";
  const auto id = group ? GroupNamed(entry.Text(key)) : UserNamed(entry.Text(key));
  if (!id) return YamlFault(path, entry.values.at(key), id.error().message);
  if (*id) {
    rules.users.push_back({.id = **id,
                           .role = *entry.role,
                           .who = group ? access::Rule::For::kGroup : access::Rule::For::kUser});
  } else {
    log::Warn(fmt::format("a rule of --access is for the {} {}, which this host does not have", key,
                          QuotedWord(entry.Text(key))));
  }
  return Ok();
}

Status AddRule(const std::string& path, const YAML::Node& node, Rules& rules) {
  const auto entry = EntryOf(path, node);
  if (!entry) return entry.error();
  if (entry->Has("token")) return AddToken(path, *entry, rules);
  if (!entry->Has("certificate")) return AddUsers(path, *entry, rules);
  const std::string& name = entry->Text("certificate");
  if (const Status checked = CheckCertificateName(path, node, name); !checked) return checked;
  rules.certificates.push_back({.name = name, .role = *entry->role});
  return Ok();
}

Status AddRules(const std::string& path, const YAML::Node& list, Rules& rules) {
  if (!list.IsSequence()) return YamlFault(path, list, kForm);
  if (list.size() > kMaxRules) {
    return YamlFault(
        path, list, fmt::format("there are {} rules; expected at most {}", list.size(), kMaxRules));
  }
  for (const YAML::Node& node : list) {
    if (const Status added = AddRule(path, node, rules); !added) return added;
  }
  return Ok();
}

Result<Rules> RulesOf(const std::string& path, const YAML::Node& root) {
  if (root.IsNull()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: the file is empty; {}", path, kKeys)};
  }
  if (!root.IsMap() || root.size() == 0) return YamlFault(path, root, kKeys);
  Rules rules;
  std::set<std::string> seen;
  for (const auto& entry : root) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (!seen.insert(key).second) {
      return YamlFault(path, entry.first, fmt::format("{} is there twice", QuotedWord(key)));
    }
    if (key == "rules") {
      if (const Status added = AddRules(path, entry.second, rules); !added) return added.error();
    } else if (key == "this_host" || key == "other_hosts") {
      const auto role = RoleAt(path, entry.second);
      if (!role) return role.error();
      (key == "this_host" ? rules.this_host : rules.other_hosts) = *role;
    } else {
      return YamlFault(path, entry.first,
                       fmt::format("unknown key {}; {}", QuotedWord(key), kKeys));
    }
  }
  return rules;
}

}  // namespace

Result<Rules> ParseAccessRules(const std::string& path, const std::string& text) {
  const Result<YAML::Node> root = ParseYamlDocument(path, text);
  return root ? RulesOf(path, root.value()) : root.error();
}

Result<std::string> ReadAccessFile(const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("can't use {}: {}", path, why)};
  };
  return ReadSmallFile(path, [&](const struct stat& found) -> Status {
    if (!S_ISREG(found.st_mode)) return refused("it is not a regular file");
    if (found.st_uid != 0 && found.st_uid != geteuid()) {
      return refused(fmt::format("it belongs to uid {}; give it to root or to uid {}", found.st_uid,
                                 geteuid()));
    }
    if ((found.st_mode & S_IWOTH) != 0) {
      return refused("every user may write to it, and so give any role; run chmod o-w");
    }
    return Ok();
  });
}

AccessFile::AccessFile(std::string path, std::string used)
    : path_(std::move(path)), used_(std::move(used)), seen_(used_) {}

void AccessFile::Look(access::Access& access) {
  if (path_.empty()) return;
  const Result<std::string> text = ReadAccessFile(path_);
  const std::string& found = text ? *text : text.error().message;
  if (std::exchange(seen_, found) != found || found == used_) return;
  used_ = found;
  const auto rules = text ? ParseAccessRules(path_, *text) : Result<Rules>(text.error());
  if (rules) {
    access.SetRules(*rules);
    const auto word = [](const std::optional<access::Role>& role) {
      return role ? access::ToString(*role) : "default";
    };
    log::Info("the rules of --access have changed",
              {{"rules", rules->users.size() + rules->certificates.size() + rules->tokens.size()},
               {"this_host", word(rules->this_host)},
               {"other_hosts", word(rules->other_hosts)}});
  } else {
    log::Warn("the rules of --access are left as they were", {{"error", rules.error().message}});
  }
}

}  // namespace baton::app
