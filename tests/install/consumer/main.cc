// Uses the installed headers and library: an option that is off must be refused by the library
// itself.
#include <baton/fencing.h>
#include <baton/node.h>
#include <baton/sharding.h>

#include <cstdio>
#ifdef COMPONENT_HEADER
#include COMPONENT_HEADER
#endif
#ifdef COMPONENT_GRPC
#include <baton/credentials.h>
#include <baton/owner_guard.h>
#include <baton/router.h>

// A router without endpoints is refused, and so are credentials without an authority; one without a
// server to follow says that it has no routes, marks and makes no call.
bool Routes() {
  if (baton::Router::Start({.group = "orders"}).ok()) return false;
  const auto router = baton::Router::Start({.group = "orders", .endpoints = {"127.0.0.1:1"}});
  if (!router.ok() || router.value()->Owner("order-4711") || !router.value()->Age().stale) {
    return false;
  }
  if (baton::GroupCredentials::FromFiles({.ca_file = "/dev/null", .servers = {"*"}}).ok())
    return false;
  grpc::ClientContext context;
  if (router.value()->Mark(context, "order-4711") || !router.value()->InterceptorFactory()) {
    return false;
  }
  const grpc::Status called =
      router.value()->CallWith("order-4711", [](const auto&, auto&) { return grpc::Status::OK; },
                               {.deadline = std::chrono::milliseconds(1)});
  return called.error_code() == grpc::StatusCode::UNAVAILABLE &&
         !baton::NotLeaderStatus({baton::ShardId{3}, "n1", "127.0.0.1:7400", baton::Term{9}}).ok();
}
#else
bool Routes() { return true; }
#endif

int main() {
  const auto started = baton::Node::Start(baton::NodeOptions{});
  if (started.ok()) {
    std::puts("options without a group or a shard count were accepted");
    return 1;
  }
  baton::FenceGuard guard(1024);
  const auto shard = baton::ShardFor("order-4711", baton::HashFunction::kMurmur2, guard.shards());
  if (!shard || !guard.Check(*shard, baton::Term{1}).ok()) {
    std::puts("a key's first term was refused");
    return 1;
  }
  if (!Routes()) {
    std::puts("the router did not do what it should");
    return 1;
  }
  std::printf("baton %s, %s\n", PACKAGE_VERSION, baton::ToString(baton::Reason::kDrain));
  return 0;
}
