// What batonctl keeps of an answer that a false server may have sent.
#include "app/ctl/status_check.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "baton/v1/admin.grpc.pb.h"
#include "core/departures.h"

namespace baton::app {
namespace {

using testing::HasSubstr;

// Plan: a false server sends as much as batonctl reads of a node that another one named. Little of
// it is kept. Of the node that was asked, an answer with more than a group can have is refused.
TEST(StatusCheck, LittleIsKeptOfWhatAFalseServerSends) {
  v1::GetStatusResponse answer;
  v1::NodeStatus& status = *answer.mutable_status();
  status.set_node("n2");
  status.set_failing(3);
  for (std::uint32_t i = 0; i < 10'000; ++i) {
    answer.add_moves();
    status.add_shards();
    status.add_members();
    status.add_recent();
    status.add_departed();
    v1::ShardStatus& shard = *status.add_worst_failing();
    shard.mutable_failing();
    for (int standby = 0; i == 0 && standby < 100'000; ++standby) shard.add_standbys();
    (*status.mutable_longest_stopping())[i];
  }
  bool own = false;
  grpc::ByteBuffer bytes;
  ASSERT_TRUE(
      grpc::SerializationTraits<v1::GetStatusResponse>::Serialize(answer, &bytes, &own).ok());
  const auto kept = OwnWordsIn(bytes, TimePoint::max());
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  EXPECT_EQ(kept->node, "n2");
  EXPECT_EQ(kept->failing, 3u);
  EXPECT_EQ(kept->shards.size() + kept->members.size() + kept->recent.size(), 0u);
  EXPECT_EQ(kept->departed.size(), core::Departures::kMaxKept);
  EXPECT_EQ(kept->worst_failing.size(), 100u);
  EXPECT_EQ(kept->worst_failing[0].standbys, nullptr);
  EXPECT_EQ(kept->longest_stopping.size(), 256u);
  EXPECT_FALSE(OwnWordsIn(bytes, TimePoint::min()).ok());
  const grpc::Slice no_answer("\xff");
  EXPECT_FALSE(OwnWordsIn(grpc::ByteBuffer(&no_answer, 1), TimePoint::max()).ok());

  status.clear_members();
  status.set_shard_count(10'000);
  EXPECT_TRUE(CheckStatus(answer).ok());
  answer.add_moves();
  EXPECT_THAT(CheckStatus(answer).error().message, HasSubstr("more moves than the group"));
  status.add_shards();
  EXPECT_THAT(CheckStatus(answer).error().message, HasSubstr("more shards than the group"));
}

}  // namespace
}  // namespace baton::app
