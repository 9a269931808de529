#include "routing/request_metadata.h"

#include <charconv>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/client_context.h>

#include "base/text_rules.h"

namespace baton::routing {
namespace {

using Text = std::optional<std::string_view>;

Error Off(const char* key, std::string_view expected) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("metadata {} is invalid: expected {}, at most once", key, expected)};
}

/// The key's value. nullopt and true: the key is absent. nullopt and false: it occurs twice.
template <typename Metadata>
std::pair<Text, bool> Find(const Metadata& metadata, const char* key) {
  const auto [first, last] = metadata.equal_range(key);
  if (first == last) return {std::nullopt, true};
  if (std::next(first) != last) return {std::nullopt, false};
  return {std::string_view(first->second.data(), first->second.size()), true};
}

template <typename Number>
std::optional<Number> NumberOf(std::string_view text) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Reads one key into `value` if it is present. False: the value is invalid.
template <typename Metadata, typename Value, typename Read>
bool Take(const Metadata& metadata, const char* key, Value* value, Read read) {
  const auto [text, once] = Find(metadata, key);
  if (!once) return false;
  if (!text) return true;
  auto taken = read(*text);
  if (!taken) return false;
  *value = *std::move(taken);
  return true;
}

std::optional<ShardId> ShardOf(std::string_view text) {
  const auto number = NumberOf<std::uint32_t>(text);
  return number ? std::optional(ShardId{*number}) : std::nullopt;
}

std::optional<Term> TermOf(std::string_view text) {
  const auto number = NumberOf<std::int64_t>(text);
  return number && *number > 0 ? std::optional(Term{*number}) : std::nullopt;
}

std::optional<std::uint32_t> AttemptOf(std::string_view text) {
  const auto number = NumberOf<std::uint32_t>(text);
  return number && *number > 0 ? number : std::nullopt;
}

auto TextUpTo(std::size_t longest) {
  return [longest](std::string_view text) {
    return IsVisibleText(text, longest) ? std::optional(std::string(text)) : std::nullopt;
  };
}

template <typename Metadata>
Result<RequestMetadata> ReadAny(const Metadata& metadata) {
  RequestMetadata read;
  if (!Take(metadata, kGroupKey, &read.group, TextUpTo(kLongestName))) {
    return Off(kGroupKey, "a group's name");
  }
  if (!Take(metadata, kShardKey, &read.shard, ShardOf)) return Off(kShardKey, "a shard's number");
  if (!Take(metadata, kTermKey, &read.term, TermOf)) return Off(kTermKey, "a number above 0");
  if (!Take(metadata, kRequestIdKey, &read.request_id, TextUpTo(kLongestRequestId))) {
    return Off(kRequestIdKey, "1 to 128 visible ASCII characters");
  }
  if (!Take(metadata, kAttemptKey, &read.attempt, AttemptOf)) {
    return Off(kAttemptKey, "a number above 0");
  }
  return read;
}

}  // namespace

bool IsVisibleText(std::string_view text, std::size_t longest) {
  return !text.empty() && text.size() <= longest && IsVisibleAscii(text);
}

Result<RequestMetadata> ReadMetadata(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
  return ReadAny(metadata);
}

Result<RequestMetadata> ReadMetadata(const std::multimap<std::string, std::string>& metadata) {
  return ReadAny(metadata);
}

void WriteMetadata(const RequestMetadata& said,
                   const std::function<void(const char* key, const std::string& value)>& put) {
  if (said.group) put(kGroupKey, *said.group);
  if (said.shard) put(kShardKey, std::to_string(said.shard->value));
  if (said.term) put(kTermKey, std::to_string(said.term->value));
  if (!said.request_id.empty()) put(kRequestIdKey, said.request_id);
  if (said.attempt > 0) put(kAttemptKey, std::to_string(said.attempt));
}

void AddMetadata(grpc::ClientContext& context, const RequestMetadata& said) {
  WriteMetadata(
      said, [&](const char* key, const std::string& value) { context.AddMetadata(key, value); });
}

}  // namespace baton::routing
