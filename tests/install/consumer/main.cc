// Uses the installed headers and library: an option that is off must be refused by the library
// itself.
#include <baton/node.h>

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
  std::printf("baton %s, %s\n", PACKAGE_VERSION, baton::ToString(baton::Reason::kDrain));
  return 0;
}
