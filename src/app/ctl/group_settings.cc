#include "app/ctl/group_settings.h"

#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "app/common/did_you_mean.h"
#include "app/common/duration.h"
#include "base/limits.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

Result<std::uint32_t> NumberOf(const std::string& setting, const std::string& text,
                               std::uint32_t most) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  if (failed == std::errc() && rest == end && number <= most) return number;
  return Wrong(
      fmt::format("{} is \"{}\"; expected 1 to {}, or 0 to clear it", setting, text, most));
}

Result<milliseconds> DurationOf(const std::string& setting, const std::string& text) {
  const Result<milliseconds> parsed = ParseDuration(text);
  if (parsed) return parsed;
  return Wrong(fmt::format("{}: {}", setting, parsed.error().message));
}

Result<FailoverPolicy> PolicyNamed(const std::string& word) {
  std::vector<std::string> words;
  for (const FailoverPolicy policy :
       {FailoverPolicy::kImmediate, FailoverPolicy::kAfter, FailoverPolicy::kNever}) {
    if (word == ToString(policy)) return policy;
    words.emplace_back(ToString(policy));
  }
  return Wrong(fmt::format("{} is \"{}\"; expected immediate, after or never{}", kFailoverSetting,
                           word, DidYouMean(word, words)));
}

/// Puts the value into `to`, or returns the error.
template <typename T>
Status Take(Result<T> value, std::optional<T>* to) {
  if (!value) return value.error();
  *to = *std::move(value);
  return Ok();
}

Status ReadInto(const std::string& setting, const std::string& value, GroupSettings* settings) {
  if (setting == kExpectedNodesSetting) {
    return Take(NumberOf(setting, value, kMaxExpectedNodes), &settings->expected_nodes);
  }
  if (setting == kMaxMovesSetting) {
    return Take(NumberOf(setting, value, kMaxMoves), &settings->max_moves);
  }
  if (setting == kFailoverSetting) return Take(PolicyNamed(value), &settings->failover);
  if (setting == kFailoverDelaySetting) {
    return Take(DurationOf(setting, value), &settings->failover_delay);
  }
  if (setting == kLockDelaySetting) return Take(DurationOf(setting, value), &settings->lock_delay);
  const std::vector<std::string> known = {kExpectedNodesSetting, kMaxMovesSetting, kFailoverSetting,
                                          kFailoverDelaySetting, kLockDelaySetting};
  return Wrong(fmt::format("no setting \"{}\"; expected {}{}", setting, fmt::join(known, ", "),
                           DidYouMean(setting, known)));
}

}  // namespace

Result<GroupSettings> ParseGroupSettings(const std::vector<std::string>& words) {
  GroupSettings settings;
  std::set<std::string> given;
  const bool two_words = words.size() == 2 && words.front().find('=') == std::string::npos;
  const std::vector<std::string> pairs =
      two_words ? std::vector{words.front() + "=" + words.back()} : words;
  for (const std::string& pair : pairs) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos) {
      return Wrong(fmt::format("\"{}\" has no value; expected SETTING=VALUE", pair));
    }
    const std::string setting = pair.substr(0, equals);
    if (!given.insert(setting).second) return Wrong(setting + " is given twice");
    if (Status read = ReadInto(setting, pair.substr(equals + 1), &settings); !read) {
      return read.error();
    }
  }
  if (given.size() > 1 && (settings.expected_nodes || settings.max_moves)) {
    return Wrong(
        fmt::format("{} and {} are changes of their own; give each in a command of its own",
                    kExpectedNodesSetting, kMaxMovesSetting));
  }
  return settings;
}

}  // namespace baton::app
