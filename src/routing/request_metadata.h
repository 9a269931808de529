// What a router says of each request in its gRPC metadata: the one place where it is written and
// read.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <grpcpp/support/string_ref.h>

#include "baton/result.h"
#include "baton/types.h"

namespace grpc {
class ClientContext;
}

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
  std::optional<std::string> group = {};
  std::optional<ShardId> shard = {};
  std::optional<Term> term = {};
  std::string request_id = {};  ///< empty: none
  std::uint32_t attempt = 0;    ///< 1: the first; 0: not said
};

/// kInvalidArgument: a value that can't be what its key stands for, or a key that comes twice; one
/// line that names it.
Result<RequestMetadata> ReadMetadata(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata);
/// The same of metadata that are yet to be sent.
Result<RequestMetadata> ReadMetadata(const std::multimap<std::string, std::string>& metadata);

/// Tells `put` what ReadMetadata would read, a key at a time; nothing of what is absent.
void WriteMetadata(const RequestMetadata& said,
                   const std::function<void(const char* key, const std::string& value)>& put);
/// The same for a call that was not begun yet.
void AddMetadata(grpc::ClientContext& context, const RequestMetadata& said);

}  // namespace baton::routing
