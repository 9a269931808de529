// Which events an application gets when it attaches again: none ends what a later one has begun.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sidecar/attachment.h"
#include "sidecar/reader.h"

namespace baton::sidecar {
namespace {

using core::CallbackKind;
using std::chrono::seconds;
using ::testing::ElementsAre;

class AttachAgainTest : public ::testing::Test {
 protected:
  void SetUp() override {
    attachment_.Begin([](core::ApplicationState) {},
                      [this](const core::StandbyReadySaid& word) {
                        said_.push_back(std::to_string(word.operation));
                      });
    stream_ = Attached("");
    attachment_.OnDeadline(clock_.Now() + seconds(9));
  }
  std::shared_ptr<Reader> Attached(const std::string& token) {
    v1::AttachHello hello;
    hello.set_protocol(1);
    hello.set_token(token);
    auto reader = std::make_shared<Reader>(attachment_);
    EXPECT_FALSE(attachment_.Attach(reader, hello, nullptr));
    return reader;
  }
  void Run(std::uint64_t operation, CallbackKind kind, std::int64_t term) {
    attachment_.Run({operation, ShardId{0}, kind, Term{term}, Reason::kStartup},
                    [this, operation](bool ok, const std::string&) {
                      done_.push_back(std::to_string(operation) + (ok ? " ok" : " failed"));
                    });
  }
  void Answer(std::uint64_t operation) { attachment_.Answer(*stream_, operation, true); }
  /// The application's stream breaks, and it comes back. Returns the events that it gets.
  std::vector<std::string> Again() {
    attachment_.Ended(*stream_);
    stream_ = Attached(stream_->welcome->token());
    EXPECT_TRUE(stream_->welcome->resumed());
    return stream_->lines;
  }

  HandClock clock_;
  std::vector<std::string> done_;
  std::vector<std::string> said_;  // the operations of standbys
  std::shared_ptr<Reader> stream_;
  Attachment attachment_{
      {.group = "orders", .node = "n1", .shards = 4, .hash = {}, .most_waiting = 8}, clock_, [] {}};
};

// Plan: the shard was handed over, and its cleanup takes long. Meanwhile the application stands by
// for it and is ready. When it comes back, the loss would end this standby. Until then the shard
// counts as one that is still stopping.
TEST_F(AttachAgainTest, AnOldLossEndsNoStandby) {
  Run(1, CallbackKind::kLost, 7);
  Run(2, CallbackKind::kStandby, 0);
  Answer(2);
  EXPECT_THAT(done_, ElementsAre("2 ok"));
  EXPECT_THAT(Again(), ElementsAre());
  EXPECT_THAT(done_, ElementsAre("2 ok", "1 ok"));
  attachment_.SayReady(*stream_, 2, true);
  EXPECT_THAT(said_, ElementsAre("2"));
  Answer(1);  // late
  EXPECT_THAT(done_, ElementsAre("2 ok", "1 ok"));
}

// Plan: the shard was acquired again, and the answers come in another order. When the application
// comes back, the loss would end the newer leadership.
TEST_F(AttachAgainTest, AnOldLossEndsNoNewerLeadership) {
  Run(1, CallbackKind::kLost, 7);
  Run(2, CallbackKind::kAcquired, 9);
  Answer(2);
  EXPECT_THAT(Again(), ElementsAre("LED 0 9"));
  EXPECT_THAT(done_, ElementsAre("2 ok", "1 ok"));
}

// Plan: the move of the shard was given up, and the application serves it again. The answer to the
// release is still missing when it comes back. The next release comes again.
TEST_F(AttachAgainTest, AReleaseThatWasGivenUpEndsNothing) {
  Run(1, CallbackKind::kAcquired, 7);
  Run(2, CallbackKind::kReleasing, 7);
  Run(3, CallbackKind::kAcquired, 7);
  Answer(1);
  Answer(3);
  EXPECT_THAT(Again(), ElementsAre("LED 0 7"));
  EXPECT_THAT(done_, ElementsAre("1 ok", "3 ok", "2 ok"));
  Run(4, CallbackKind::kReleasing, 7);
  EXPECT_THAT(Again(), ElementsAre("LED 0 7", "RELEASING 0 7 #4"));
}

// Plan: the same, but only the first acquisition was answered. The application may have read the
// release and not what came after it, so it gets both.
TEST_F(AttachAgainTest, AReleaseComesAgainBeforeTheNextAcquisition) {
  Run(1, CallbackKind::kAcquired, 7);
  Run(2, CallbackKind::kReleasing, 7);
  Run(3, CallbackKind::kAcquired, 7);
  Answer(1);
  EXPECT_THAT(Again(), ElementsAre("LED 0 7", "RELEASING 0 7 #2", "ACQUIRED 0 7 #3"));
}

// Plan: a standby ended and the next one began. The end of the first is not answered.
TEST_F(AttachAgainTest, TheEndOfAStandbyDoesNotEndTheNextOne) {
  Run(1, CallbackKind::kStandby, 0);
  Run(2, CallbackKind::kStandbyEnded, 0);
  Run(3, CallbackKind::kStandby, 0);
  Answer(3);
  EXPECT_THAT(Again(), ElementsAre());
  EXPECT_THAT(done_, ElementsAre("1 ok", "3 ok", "2 ok"));
}

// Plan: neither the loss nor what came after it is answered. The application may not have read
// them, so it gets both, in order. Nor does an acquisition that failed make the loss obsolete.
TEST_F(AttachAgainTest, ALossComesAgainBeforeWhatFollowedIt) {
  Run(1, CallbackKind::kLost, 7);
  Run(2, CallbackKind::kStandby, 0);
  EXPECT_THAT(Again(), ElementsAre("LOST 0 7 #1", "STANDBY 0 0 #2"));
  Run(3, CallbackKind::kAcquired, 9);
  EXPECT_THAT(Again(), ElementsAre("LOST 0 7 #1", "ACQUIRED 0 9 #3"));
  attachment_.Answer(*stream_, 3, false);
  EXPECT_THAT(Again(), ElementsAre("LOST 0 7 #1"));
  EXPECT_THAT(done_, ElementsAre("2 ok", "3 failed"));
}

}  // namespace
}  // namespace baton::sidecar
