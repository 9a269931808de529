// The gRPC metadata that a router adds to each request. Only these functions write and read the
// metadata.
//
// Pure functions; any thread.
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

/// Whether the text has 1 to `longest` visible ASCII characters. gRPC sends such a value unchanged.
bool IsVisibleText(std::string_view text, std::size_t longest);

/// A field is empty if the request lacks its key.
struct RequestMetadata {
  std::optional<std::string> group = {};
  std::optional<ShardId> shard = {};
  std::optional<Term> term = {};
  std::string request_id = {};  ///< empty: absent
  std::uint32_t attempt = 0;    ///< the first attempt is 1; 0: absent
};

/// Reads the metadata. Shard, term and attempt are decimal numbers, which may have leading zeros.
/// Term and attempt are above 0. Group and request id have 1 to 128 visible ASCII characters.
/// kInvalidArgument: a value is malformed, or a key occurs twice; the message is one line that
/// names the key. Ignores other keys.
Result<RequestMetadata> ReadMetadata(
    const std::multimap<grpc::string_ref, grpc::string_ref>& metadata);
/// Reads metadata that was not sent yet, in the same way.
Result<RequestMetadata> ReadMetadata(const std::multimap<std::string, std::string>& metadata);

/// Calls `put` for each field that is present.
void WriteMetadata(const RequestMetadata& said,
                   const std::function<void(const char* key, const std::string& value)>& put);
/// Adds the fields that are present to a call. REQUIRES: the call has not begun yet.
void AddMetadata(grpc::ClientContext& context, const RequestMetadata& said);

}  // namespace baton::routing
