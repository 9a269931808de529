// RouteDigest: makes a digest of a group's routes. A router compares its own digest with its
// server's, to find out whether both have the same routes. proto/baton/v1/routing.proto defines the
// digest (WatchRoutesResponse.check). It is a SHA-256, so that nobody can make false routes with
// the digest of the true ones.
//
// Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/placement.h"
#include "baton/types.h"

namespace baton::routing {

/// The most standbys of a route that routers keep, and that the digest covers. While nobody leads a
/// shard, the node that would lead it is a standby, too.
inline constexpr int kMaxStandbysKept = static_cast<int>(kMaxStandbys) + 1;

/// Returns `address`, or an empty text if the address is neither a valid host:port nor unix:/path.
/// The result refers to the argument's memory. Pure; any thread.
std::string_view DigestedAddress(std::string_view address);

class RouteDigest {
 public:
  RouteDigest();
  ~RouteDigest();
  RouteDigest(const RouteDigest&) = delete;
  RouteDigest& operator=(const RouteDigest&) = delete;

  /// Adds the route of the next shard; the first call is for shard 0. REQUIRES (not checked):
  /// `address` is a result of DigestedAddress; if nobody leads the shard, `leader` and `address`
  /// are empty, and `term` is 0.
  void Add(Term term, std::string_view leader, std::string_view address);
  /// Adds a standby of the last shard that Add got. REQUIRES (not checked): Add was called;
  /// `address` is a result of DigestedAddress; at most kMaxStandbysKept calls for one shard.
  void AddStandby(std::string_view node, std::string_view address, bool ready);
  /// Returns the digest of all shards, 32 bytes. REQUIRES (not checked): called once, and nothing
  /// is added later.
  std::string Finish();

 private:
  struct Hash;

  void EndLine();

  std::unique_ptr<Hash> hash_;
  std::string text_;      // not hashed yet
  bool in_line_ = false;  // a shard's line has begun
};

}  // namespace baton::routing
