#include "app/daemon/access_file.h"

#include <grp.h>
#include <pwd.h>

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include "app/common/config_file.h"
#include "base/escape.h"
#include "base/log.h"

namespace baton::app {
namespace {

using access::Rule;

constexpr std::size_t kLongestWord = 64;
constexpr std::size_t kMostRules = 1000;
constexpr const char* kForm =
    "expected rules: a list of {user: NAME, role: ROLE} or {group: NAME, role: ROLE}";

Error At(const std::string& path, const YAML::Node& node, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", path, node.Mark().line + 1, what)};
}

std::string Quoted(const std::string& text) { return '"' + OneLine(text, kLongestWord) + '"'; }

/// A name of the host's user database, or a number.
std::optional<uid_t> IdOf(Rule::Kind kind, const std::string& name) {
  uid_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, failed] = std::from_chars(name.data(), end, number);
  if (!name.empty() && failed == std::errc() && stop == end) return number;
  std::array<char, 65536> buffer{};
  if (kind == Rule::Kind::kUser) {
    passwd entry{};
    passwd* found = nullptr;
    getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
    return found == nullptr ? std::nullopt : std::optional(found->pw_uid);
  }
  group entry{};
  group* found = nullptr;
  getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? std::nullopt : std::optional(found->gr_gid);
}

Result<Rule> RuleOf(const std::string& path, const YAML::Node& node) {
  if (!node.IsMap() || node.size() != 2) return At(path, node, kForm);
  Rule rule;
  bool has_role = false;
  bool has_name = false;
  for (const auto& entry : node) {
    if (!entry.first.IsScalar() || !entry.second.IsScalar()) return At(path, node, kForm);
    const std::string& key = entry.first.Scalar();
    const std::string& text = entry.second.Scalar();
    if (key == "role") {
      const auto role = access::RoleNamed(text);
      if (!role || *role == access::Role::kProbe) {
        return At(path, entry.second,
                  Quoted(text) + " is not a role; expected read, lead, operate or admin");
      }
      rule.role = *role;
      has_role = true;
    } else if (key == "user" || key == "group") {
      rule.kind = key == "user" ? Rule::Kind::kUser : Rule::Kind::kGroup;
      const auto id = IdOf(rule.kind, text);
      if (!id) {
        return At(
            path, entry.second,
            fmt::format("this host has no {} {}; expected a name or a number", key, Quoted(text)));
      }
      rule.id = *id;
      has_name = true;
    } else {
      return At(path, entry.first, fmt::format("unknown key {}; {}", Quoted(key), kForm));
    }
  }
  if (!has_role || !has_name) return At(path, node, kForm);
  return rule;
}

Result<std::vector<Rule>> RulesOf(const std::string& path, const YAML::Node& root) {
  std::vector<Rule> rules;
  if (!root.IsMap() || root.size() != 1 || !root["rules"] || !root["rules"].IsSequence()) {
    return At(path, root, kForm);
  }
  const YAML::Node list = root["rules"];
  if (list.size() > kMostRules) {
    return At(path, list,
              fmt::format("there are {} rules; at most {} are read", list.size(), kMostRules));
  }
  for (const YAML::Node& node : list) {
    Result<Rule> rule = RuleOf(path, node);
    if (!rule) return rule.error();
    rules.push_back(*rule);
  }
  return rules;
}

}  // namespace

Result<std::vector<Rule>> ParseAccessRules(const std::string& path, const std::string& text) {
  try {
    return RulesOf(path, YAML::Load(text));
  } catch (const YAML::Exception& malformed) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("{}:{}: this is not YAML: {}", path,
                                                          malformed.mark.line + 1, malformed.msg)};
  }
}

Result<std::vector<Rule>> ReadAccessFile(const std::string& path) {
  const Result<std::string> text = ReadSmallFile(path);
  if (!text) return text.error();
  return ParseAccessRules(path, *text);
}

AccessFile::AccessFile(std::string path, std::vector<Rule> used)
    : path_(std::move(path)), used_(std::move(used)) {}

void AccessFile::Look(access::Access& access) {
  if (path_.empty()) return;
  Result<std::vector<Rule>> read = ReadAccessFile(path_);
  if (read.ok()) {
    trouble_.clear();
    said_ = false;
    if (*read == used_) return;
    used_ = *read;
    access.SetRules(std::move(read).value());
    log::Info("the rules of --access have changed", {{"rules", used_.size()}});
    return;
  }
  const std::string& trouble = read.error().message;
  if (std::exchange(trouble_, trouble) != trouble) {
    said_ = false;
  } else if (!std::exchange(said_, true)) {
    log::Warn("the rules of --access are left as they were", {{"error", trouble}});
  }
}

}  // namespace baton::app
