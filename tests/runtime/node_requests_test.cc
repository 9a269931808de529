// A node's status after an operator's request, on a real etcd.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

#include "baton/node.h"
#include "lab/private_etcd.h"
#include "runtime/control.h"

namespace baton {
namespace {

std::shared_ptr<const runtime::NodeStatus> StatusOf(runtime::Control& control) {
  std::promise<std::shared_ptr<const runtime::NodeStatus>> answer;
  control.GetStatus([&](auto status) { answer.set_value(std::move(status)); });
  return answer.get_future().get();
}

Status Ask(runtime::Control& control, runtime::PolicyRequest::Verb verb) {
  std::promise<Status> answer;
  control.Request(runtime::PolicyRequest{.verb = verb, .node = {}, .actor = "test"},
                  [&](Status result) { answer.set_value(std::move(result)); });
  return answer.get_future().get();
}

// Plan: somebody asks for the status, and at once an operator pauses balance and takes that back.
// The status that is shared meanwhile does not hide it, however long it would be shared.
TEST(NodeRequestsTest, AStatusAfterAChangeShowsIt) {
  using Verb = runtime::PolicyRequest::Verb;
  const auto etcd = lab::PrivateEtcd::Start({});
  ASSERT_TRUE(etcd.ok()) << etcd.error().message;
  NodeOptions options;
  options.group = "requests";
  options.shards = 4;
  options.node = "n1";
  options.etcd.endpoints = etcd.value()->endpoints();
  const auto node = Node::Start(options, nullptr);
  ASSERT_TRUE(node.ok()) << node.error().message;
  runtime::Control& control = node.value()->control();
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!control.Ready() && std::chrono::steady_clock::now() < end) StatusOf(control);
  ASSERT_TRUE(control.Ready());
  for (int i = 0; i < 5; ++i) {
    StatusOf(control);
    ASSERT_TRUE(Ask(control, Verb::kPause).ok());
    EXPECT_TRUE(StatusOf(control)->paused);
    ASSERT_TRUE(Ask(control, Verb::kResume).ok());
    EXPECT_FALSE(StatusOf(control)->paused);
  }
}

}  // namespace
}  // namespace baton
