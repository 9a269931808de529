// A program that links the shared libraries, as a user's program does, and forks.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "baton/node.h"
#include "baton/router.h"

namespace baton {
namespace {

Result<std::unique_ptr<Node>> StartNode() {
  NodeOptions options;
  options.group = "orders";
  options.node = "n1";
  options.shards = 1;
  options.etcd.endpoints = {"127.0.0.1:1"};
  return Node::Start(options);
}

Result<std::unique_ptr<Router>> StartRouter() {
  return Router::Start({.group = "orders", .endpoints = {"127.0.0.1:1"}});
}

template <typename Started>
bool Refused(const Result<Started>& result) {
  return !result.ok() && result.error().code == ErrorCode::kFailedPrecondition;
}

// Returns the exit code of a forked child that starts a node and then a router: 1 if the node was
// not refused, plus 2 if the router was not. -1: it did not end by itself. What gRPC does in such a
// child is open: it may also hang.
int StartsInAChild() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit((Refused(StartNode()) ? 0 : 1) + (Refused(StartRouter()) ? 0 : 2));
  }
  int ended = 0;
  return waitpid(child, &ended, 0) == child && WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

// The mark of a process is never taken back, so each test runs in a child of its own. It exits with
// what its own child, a forked one, says.
template <typename Start>
int StartsInAChildOfOneThat(const Start& start) {
  const pid_t parent = fork();
  if (parent == 0) {
    const auto started = start();
    _exit(started.ok() ? StartsInAChild() : 99);
  }
  int ended = 0;
  return waitpid(parent, &ended, 0) == parent && WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
}

// Plan: Node::Start is in one shared library, and Router::Start in another. Whatever the parent has
// started, its child may start neither.
TEST(ForkedChild, StartsNothingIfTheParentHadStartedANode) {
  EXPECT_EQ(StartsInAChildOfOneThat(StartNode), 0);
}

TEST(ForkedChild, StartsNothingIfTheParentHadStartedARouter) {
  EXPECT_EQ(StartsInAChildOfOneThat(StartRouter), 0);
}

// Plan: a process forks before it starts anything. The child may start both.
TEST(ForkedChild, StartsWhatItWantsIfTheParentHadStartedNothing) { EXPECT_EQ(StartsInAChild(), 3); }

}  // namespace
}  // namespace baton
