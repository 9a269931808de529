// Uses the installed headers and library: an option that is off must be refused by the library
// itself.
#include <baton/fencing.h>
#include <baton/node.h>
#include <baton/sharding.h>

#include <cstdio>
#ifdef COMPONENT_HEADER
#include COMPONENT_HEADER
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
  std::printf("baton %s, %s\n", PACKAGE_VERSION, baton::ToString(baton::Reason::kDrain));
  return 0;
}
