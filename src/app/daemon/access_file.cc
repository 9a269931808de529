#include "app/daemon/access_file.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "base/escape.h"
#include "base/log.h"
#include "base/small_file.h"
#include "base/text_rules.h"

namespace baton::app {
namespace {

using access::Rules;

constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kMaxRules = 1000;
constexpr std::size_t kLargestEntry = 1 << 20;  // of the user database
constexpr const char* kForm =
    "expected a list of {user: NAME, role: ROLE} or {certificate: NAME, role: ROLE}";
constexpr const char* kKeys = "expected rules, this_host or other_hosts";

Error At(const std::string& path, const YAML::Node& node, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", path, node.Mark().line + 1, what)};
}

std::string Quoted(const std::string& text) { return '"' + OneLine(text, kLongestWord) + '"'; }

/// Reads a number, or a name of the host's user database. A user that it does not have is unset.
Result<std::optional<uid_t>> UserNamed(const std::string& name) {
  uid_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, failed] = std::from_chars(name.data(), end, number);
  if (!name.empty() && failed == std::errc() && stop == end) return std::optional(number);
  std::vector<char> buffer(4096);
  passwd entry{};
  passwd* found = nullptr;
  int wrong = 0;
  while ((wrong = getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) ==
             ERANGE &&
         buffer.size() < kLargestEntry) {
    buffer.resize(2 * buffer.size());
  }
  if (found != nullptr) return std::optional(found->pw_uid);
  if (wrong == 0 || wrong == ENOENT || wrong == ESRCH) return std::optional<uid_t>();
  return Error{ErrorCode::kInvalidArgument,
               fmt::format("can't ask this host for the user {}: {}", Quoted(name),
                           std::generic_category().message(wrong))};
}

Result<access::Role> RoleAt(const std::string& path, const YAML::Node& node) {
  const std::string text = node.IsScalar() ? node.Scalar() : "this";
  if (const auto role = access::RoleNamed(text)) return *role;
  std::string words;
  for (const access::Role role : access::kRoles) {
    words += (words.empty() ? "" : role == access::Role::kAdmin ? " or " : ", ");
    words += access::ToString(role);
  }
  return At(path, node, Quoted(text) + " is not a role; expected " + words);
}

struct Entry {
  std::optional<access::Role> role;
  std::optional<std::string> user;
  std::optional<std::string> certificate;
};

Result<Entry> EntryOf(const std::string& path, const YAML::Node& node) {
  if (!node.IsMap() || node.size() != 2) return At(path, node, kForm);
  Entry entry;
  for (const auto& pair : node) {
    if (!pair.first.IsScalar() || !pair.second.IsScalar()) return At(path, node, kForm);
    const std::string& key = pair.first.Scalar();
    if (key == "role") {
      const auto named = RoleAt(path, pair.second);
      if (!named) return named.error();
      entry.role = *named;
    } else if (key == "user") {
      entry.user = pair.second.Scalar();
    } else if (key == "certificate") {
      entry.certificate = pair.second.Scalar();
    } else {
      return At(path, pair.first, fmt::format("unknown key {}; {}", Quoted(key), kForm));
    }
  }
  if (!entry.role || (!entry.user && !entry.certificate)) return At(path, node, kForm);
  return entry;
}

Status CheckCertificateName(const std::string& path, const YAML::Node& node,
                            const std::string& name) {
  if (IsCertificatePattern(name)) return Ok();
  return At(path, node,
            Quoted(name) +
                " can't name a certificate; expected spiffe://..., dns:... "
                "or cn:..., with * at most as its last character");
}

Status AddRule(const std::string& path, const YAML::Node& node, Rules& rules) {
  const auto entry = EntryOf(path, node);
  if (!entry) return entry.error();
  if (entry->certificate) {
    if (const Status checked = CheckCertificateName(path, node, *entry->certificate); !checked) {
      return checked;
    }
    rules.certificates.push_back({.name = *entry->certificate, .role = *entry->role});
    return Ok();
  }
  const auto user = UserNamed(*entry->user);
  if (!user) return At(path, node, user.error().message);
  if (*user) {
    rules.users.push_back({.user = **user, .role = *entry->role});
  } else {
    log::Warn("a rule of --access is for a user whom this host does not have",
              {{"user", OneLine(*entry->user, kLongestWord)}});
  }
  return Ok();
}

Status AddRules(const std::string& path, const YAML::Node& list, Rules& rules) {
  if (!list.IsSequence()) return At(path, list, kForm);
  if (list.size() > kMaxRules) {
    return At(path, list,
              fmt::format("there are {} rules; expected at most {}", list.size(), kMaxRules));
  }
  for (const YAML::Node& node : list) {
    if (const Status added = AddRule(path, node, rules); !added) return added;
  }
  return Ok();
}

Result<Rules> RulesOf(const std::string& path, const YAML::Node& root) {
  if (!root.IsMap() || root.size() == 0) return At(path, root, kKeys);
  Rules rules;
  std::set<std::string> seen;
  for (const auto& entry : root) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
    if (!seen.insert(key).second) {
      return At(path, entry.first, fmt::format("{} is there twice", Quoted(key)));
    }
    if (key == "rules") {
      if (const Status added = AddRules(path, entry.second, rules); !added) return added.error();
    } else if (key == "this_host" || key == "other_hosts") {
      const auto role = RoleAt(path, entry.second);
      if (!role) return role.error();
      (key == "this_host" ? rules.this_host : rules.other_hosts) = *role;
    } else {
      return At(path, entry.first, fmt::format("unknown key {}; {}", Quoted(key), kKeys));
    }
  }
  return rules;
}

}  // namespace

Result<Rules> ParseAccessRules(const std::string& path, const std::string& text) {
  try {
    return RulesOf(path, YAML::Load(text));
  } catch (const YAML::Exception& malformed) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}:{}: this is not YAML: {}", path,
                                                          malformed.mark.line + 1, malformed.msg)};
  }
}

Result<std::string> ReadAccessFile(const std::string& path) {
  const auto refused = [&](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("can't use {}: {}", path, why)};
  };
  struct stat found {};
  if (stat(path.c_str(), &found) != 0) return refused(std::generic_category().message(errno));
  if (!S_ISREG(found.st_mode)) return refused("it is not a regular file");
  if (found.st_uid != 0 && found.st_uid != geteuid()) {
    return refused(
        fmt::format("it belongs to uid {}; give it to root or to uid {}", found.st_uid, geteuid()));
  }
  if ((found.st_mode & S_IWOTH) != 0) {
    return refused("every user may write to it, and so give any role; run chmod o-w");
  }
  return ReadSmallFile(path);
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
              {{"rules", rules->users.size() + rules->certificates.size()},
               {"this_host", word(rules->this_host)},
               {"other_hosts", word(rules->other_hosts)}});
  } else {
    log::Warn("the rules of --access are left as they were", {{"error", rules.error().message}});
  }
}

}  // namespace baton::app
