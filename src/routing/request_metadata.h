// What a router says of each request in its gRPC metadata, and how a server reads it.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/support/string_ref.h>

#include "baton/result.h"
#include "baton/types.h"

namespace baton::routing {

inline constexpr const char* kGroupKey = "baton-group";
inline constexpr const char* kShardKey = "baton-shard";
inline constexpr const char* kTermKey = "baton-term";
inline constexpr const char* kRequestIdKey = "baton-request-id";
inline constexpr const char* kAttemptKey = "baton-attempt";

inline constexpr std::size_t kLongestRequestId = 128;

/// 1 to `longest` visible ASCII characters: what metadata carries unchanged.
bool IsVisibleText(std::string_view text, std::size_t longest);

/// Each absent where the request does not say it.
struct RequestMetadata {
  std::optional<std::string> group;
  std::optional<ShardId> shard;
  std::optional<Term> term;
  std::string request_id;     ///< empty: none
  std::uint32_t attempt = 0;  ///< 1: the first; 0: not said
};

/// kInvalidArgument: a value that can't be what its key stands for, or a key that comes twice; one
/// line that names it.
Result<RequestMetadata> ReadMetadata(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata);

}  // namespace baton::routing
