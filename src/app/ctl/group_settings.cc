#include "app/ctl/group_settings.h"

#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "app/common/did_you_mean.h"
#include "app/common/duration.h"
#include "base/duration_text.h"
#include "base/limits.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

constexpr const char* kZero = "0";

/// `clears`: the value that clears the setting, for the message. The caller says what 0 means.
Result<std::uint32_t> NumberOf(const std::string& setting, const std::string& text,
                               std::uint32_t most, const char* clears) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failed] = std::from_chars(text.data(), end, number);
  if (failed == std::errc() && rest == end && number <= most) return number;
  return Wrong(fmt::format("{} is \"{}\"; expected 1 to {}, or {} to clear it", setting, text, most,
                           clears));
}

Result<milliseconds> DurationOf(const std::string& setting, const std::string& text) {
  const Result<milliseconds> parsed = ParseDuration(text);
  if (parsed) return parsed;
  return Wrong(fmt::format("{}: {}", setting, parsed.error().message));
}

Result<LimitsChange::DelayOrder> DelayOrderOf(const std::string& setting, const std::string& text) {
  if (text == kDefaultValue) return LimitsChange::DelayOrder{};
  const Result<milliseconds> delay = DurationOf(setting, text);
  if (!delay) return delay.error();
  if (*delay <= kLongestDurationFlag) return LimitsChange::DelayOrder{*delay};
  return Wrong(fmt::format("{} is {}; expected 0s to {}, or {} to clear it", setting,
                           FormatDuration(*delay), FormatDuration(kLongestDurationFlag),
                           kDefaultValue));
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

/// On the wire 0 clears it. Here 0 is refused: an operator who types it wants moves to stop.
Status ReadMaxMoves(const std::string& value, std::optional<std::uint32_t>* to) {
  if (value == kDefaultValue) {
    *to = 0;
    return Ok();
  }
  const Result<std::uint32_t> number = NumberOf(kMaxMovesSetting, value, kMaxMoves, kDefaultValue);
  if (!number) return number.error();
  if (*number == 0) {
    return Wrong(
        fmt::format("{} is \"0\"; expected 1 to {}, or {} to clear it; batonctl pause "
                    "stops balance",
                    kMaxMovesSetting, kMaxMoves, kDefaultValue));
  }
  *to = *number;
  return Ok();
}

/// Nullopt: it is no limit.
std::optional<Status> ReadLimit(const std::string& setting, const std::string& value,
                                LimitsChange* limits) {
  if (setting == kMaxMovesSetting) return ReadMaxMoves(value, &limits->max_moves);
  if (setting == kRebalanceDelaySetting) {
    return Take(DelayOrderOf(setting, value), &limits->rebalance_delay);
  }
  if (setting == kCooldownSetting) return Take(DelayOrderOf(setting, value), &limits->cooldown);
  return std::nullopt;
}

Status ReadInto(const std::string& setting, const std::string& value, GroupSettings* settings) {
  if (setting == kExpectedNodesSetting) {
    return Take(NumberOf(setting, value, kMaxExpectedNodes, kZero), &settings->expected_nodes);
  }
  if (const auto read = ReadLimit(setting, value, &settings->limits)) return *read;
  if (setting == kFailoverSetting) return Take(PolicyNamed(value), &settings->failover);
  if (setting == kFailoverDelaySetting) {
    return Take(DurationOf(setting, value), &settings->failover_delay);
  }
  if (setting == kLockDelaySetting) return Take(DurationOf(setting, value), &settings->lock_delay);
  const std::vector<std::string> known = {
      kExpectedNodesSetting, kMaxMovesSetting,      kRebalanceDelaySetting, kCooldownSetting,
      kFailoverSetting,      kFailoverDelaySetting, kLockDelaySetting};
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
  const bool fails_over = settings.failover || settings.failover_delay || settings.lock_delay;
  if (int{settings.expected_nodes.has_value()} + !settings.limits.empty() + fails_over > 1) {
    return Wrong(fmt::format(
        "{}, limits ({}, {}, {}) and failover are changes of their own; give "
        "each in a command of its own",
        kExpectedNodesSetting, kMaxMovesSetting, kRebalanceDelaySetting, kCooldownSetting));
  }
  return settings;
}

std::string GroupSettingsWords(const GroupSettings& settings) {
  std::vector<std::string> words;
  const LimitsChange& limits = settings.limits;
  const auto add = [&words](const char* setting, const std::string& value) {
    words.push_back(fmt::format("{}={}", setting, value));
  };
  const auto add_delay = [&add](const char* setting,
                                const std::optional<LimitsChange::DelayOrder>& order) {
    if (order) add(setting, order->delay ? FormatDuration(*order->delay) : kDefaultValue);
  };
  if (settings.expected_nodes) {
    add(kExpectedNodesSetting, std::to_string(*settings.expected_nodes));
  }
  if (limits.max_moves) {
    add(kMaxMovesSetting,
        *limits.max_moves > 0 ? std::to_string(*limits.max_moves) : kDefaultValue);
  }
  add_delay(kRebalanceDelaySetting, limits.rebalance_delay);
  add_delay(kCooldownSetting, limits.cooldown);
  if (settings.failover) add(kFailoverSetting, ToString(*settings.failover));
  if (settings.failover_delay) {
    add(kFailoverDelaySetting, FormatDuration(*settings.failover_delay));
  }
  if (settings.lock_delay) add(kLockDelaySetting, FormatDuration(*settings.lock_delay));
  return fmt::format("{}", fmt::join(words, " "));
}

bool Holds(const GroupSettings& settings, const runtime::NodeStatus& status) {
  const auto is = [](const auto& wanted, const auto& now) { return !wanted || *wanted == now; };
  const auto is_delay = [](const std::optional<LimitsChange::DelayOrder>& order,
                           const std::optional<milliseconds>& now) {
    return !order || order->delay == now;
  };
  const LimitsChange& limits = settings.limits;
  return is(settings.expected_nodes, status.expected_nodes) &&
         is(limits.max_moves, status.max_moves) &&
         is_delay(limits.rebalance_delay, status.rebalance_delay) &&
         is_delay(limits.cooldown, status.cooldown) &&
         is(settings.failover, status.failover.policy) &&
         is(settings.failover_delay, status.failover.delay) &&
         is(settings.lock_delay, status.failover.lock_delay);
}

}  // namespace baton::app
