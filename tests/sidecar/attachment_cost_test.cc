// The cost of a node's turns in which it talks to an application in another process.
#include <gtest/gtest.h>

#include "base/growth.h"
#include "sidecar/attachment.h"
#include "sidecar/reader.h"

namespace baton::sidecar {
namespace {

using core::CallbackKind;

// Plan: an application that answers nothing is told to take up many shards, and then that each is
// not led any more. Each end completes its own shard's callback alone, and finds it at once.
TEST(AttachmentCost, GrowsWithTheShardsThatEnd) {
  const auto lose = [](int shards) {
    HandClock clock;
    const auto count = static_cast<std::uint32_t>(shards);
    Attachment attachment({.group = "orders", .node = "n1", .shards = count, .hash = {}}, clock,
                          [] {});
    const auto reader = std::make_shared<Reader>(attachment);
    v1::AttachHello hello;
    hello.set_protocol(1);
    EXPECT_FALSE(attachment.Attach(reader, hello, nullptr));
    int done = 0;
    for (std::uint32_t s = 0; s < count; ++s) {
      attachment.Run({s + 1, ShardId{s}, CallbackKind::kAcquired, Term{7}, Reason::kStartup},
                     [&done](bool, const std::string&) { ++done; });
    }
    const Duration before = test::ProcessorTime();
    for (std::uint32_t s = 0; s < count; ++s) attachment.OnNotLed(ShardId{s});
    const Duration took = test::ProcessorTime() - before;
    EXPECT_EQ(done, shards);
    return took;
  };
  EXPECT_LT(test::GrowthOverFour(4'000, lose), test::kMaxGrowth);
}

}  // namespace
}  // namespace baton::sidecar
