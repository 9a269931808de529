// Names of a shard or a key in the public headers: a ShardId, and any text. Not a literal 0: C++
// takes it for a null pointer, so it could become a null const char*. The compiler checks this.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <grpcpp/server_context.h>

#include "baton/owner_guard.h"
#include "baton/router.h"
#include "baton/sharding.h"
#include "baton/v1/routing.grpc.pb.h"

namespace baton::routing {
namespace {

constexpr auto kLookup = &v1::RoutingService::Stub::Lookup;

/// Which functions compile with a literal 0.
template <typename R, typename Guard, typename Hash>
struct Zero {
  static constexpr bool kOwner = requires(const R& router) { router.Owner(0); };
  static constexpr bool kStandbys = requires(const R& router) { router.Standbys(0); };
  static constexpr bool kShardFor = requires(const R& router) { router.ShardFor(0); };
  static constexpr bool kMark = requires(const R& router, grpc::ClientContext& context) {
    router.Mark(context, 0);
  };
  static constexpr bool kCallWith = requires(R & router, const Router::Attempt& attempt) {
    router.CallWith(0, attempt);
  };
  static constexpr bool kCall =
      requires(R & router, v1::LookupRequest request, v1::LookupResponse response) {
    router.Call(0, kLookup, request, &response);
  };
  static constexpr bool kCheck = requires(Guard & guard, const grpc::ServerContextBase& context) {
    guard.Check(context, 0, nullptr);
  };
  static constexpr bool kFree = requires(Hash hash) { baton::ShardFor(0, hash, 4); };
};

/// Whether all functions that take a shard or a key compile with this type.
template <typename Named, typename R = Router>
concept NamesShard = requires(R& router, OwnerGuard& guard, Named named,
                              grpc::ClientContext& context, const Router::Attempt& attempt,
                              const grpc::ServerContextBase& server, v1::LookupRequest request,
                              v1::LookupResponse response) {
  router.Owner(named);
  router.Standbys(named);
  router.Mark(context, named);
  router.CallWith(named, attempt);
  router.Call(named, kLookup, request, &response);
  guard.Check(server, named, nullptr);
};

/// The same for the functions that take only a key.
template <typename Named, typename R = Router>
concept IsKey = requires(R& router, Named named) {
  router.ShardFor(named);
  baton::ShardFor(named, HashFunction::kMurmur2, 4);
};

using Zeros = Zero<Router, OwnerGuard, HashFunction>;
static_assert(!Zeros::kOwner && !Zeros::kStandbys && !Zeros::kShardFor && !Zeros::kMark);
static_assert(!Zeros::kCallWith && !Zeros::kCall && !Zeros::kCheck && !Zeros::kFree);
static_assert(!NamesShard<std::nullptr_t> && !IsKey<std::nullptr_t>);
static_assert(!NamesShard<int> && !IsKey<int>);

static_assert(NamesShard<ShardId>);
static_assert(NamesShard<const char (&)[4]> && IsKey<const char (&)[4]>);
static_assert(NamesShard<const char*> && IsKey<const char*>);
static_assert(NamesShard<std::string> && IsKey<std::string>);
static_assert(NamesShard<std::string_view> && IsKey<std::string_view>);

// Plan: the shard and the keys keep their meaning.
TEST(CallTarget, IsAShardOrAKey) {
  EXPECT_EQ(CallTarget(ShardId{0}).shard(), ShardId{0});
  EXPECT_EQ(CallTarget("0").shard(), std::nullopt);
  EXPECT_EQ(CallTarget("0").key(), "0");
  const std::string key = "order-4711";
  EXPECT_EQ(CallTarget(key).key(), key);
}

}  // namespace
}  // namespace baton::routing
