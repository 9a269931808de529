// An application at the sidecar of a batond with a watchdog: which deadlines it is sent, and when
// it is given up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sidecar/attachment.h"
#include "sidecar/reader.h"

namespace baton::sidecar {
namespace {

using core::ApplicationState;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SidecarWatchdogTest : public ::testing::Test {
 protected:
  void SetUp() override {
    attachment_.Begin([this](ApplicationState state) { states_.push_back(state); },
                      [](const core::StandbyReadySaid&) {});
  }
  std::optional<Refusal> Attach(const std::shared_ptr<Reader>& reader, bool alive,
                                const std::string& token = "") {
    v1::AttachHello hello;
    hello.set_protocol(1);
    hello.set_token(token);
    hello.set_alive(alive);
    return attachment_.Attach(reader, hello, nullptr);
  }
  std::shared_ptr<Reader> NewReader() { return std::make_shared<Reader>(attachment_); }
  std::shared_ptr<Reader> Attached() {
    auto reader = NewReader();
    EXPECT_FALSE(Attach(reader, true));
    attachment_.OnDeadline(In(seconds(9)));
    return reader;
  }
  TimePoint In(Duration length) { return clock_.Now() + length; }

  HandClock clock_;
  std::vector<ApplicationState> states_;
  Attachment attachment_{
      {.group = "orders", .node = "n1", .shards = 4, .hash = {}, .watchdog = seconds(5)},
      clock_,
      [] {}};
};

// Plan: the lease would allow 9 s. The application is sent 5 s, and with each sign 5 s more, up to
// what the lease allows.
TEST_F(SidecarWatchdogTest, NoDeadlineGoesBeyondTheLastSign) {
  const auto reader = Attached();
  EXPECT_EQ(reader->welcome->watchdog().seconds(), 5);
  EXPECT_EQ(reader->deadline, In(seconds(5)));
  clock_.Add(seconds(3));
  attachment_.NoteAlive(*reader);
  EXPECT_EQ(reader->deadline, In(seconds(5)));
  clock_.Add(seconds(3));
  attachment_.NoteAlive(*reader);
  EXPECT_EQ(reader->deadline, In(seconds(3))) << "the lease's";
  EXPECT_EQ(attachment_.Advance(), In(seconds(5)));
}

// Plan: no sign comes; renewals go on. At the last deadline that was sent the application is
// absent, and its stream ends.
TEST_F(SidecarWatchdogTest, SilenceEndsTheAttachment) {
  const auto reader = Attached();
  clock_.Add(seconds(4));
  attachment_.OnDeadline(In(seconds(9)));
  EXPECT_EQ(reader->deadline, In(seconds(1)));
  EXPECT_EQ(attachment_.Advance(), In(seconds(1)));
  clock_.Add(seconds(1));
  attachment_.Advance();
  EXPECT_THAT(states_, ElementsAre(ApplicationState::kAttached, ApplicationState::kAbsent));
  ASSERT_TRUE(reader->ended);
  EXPECT_THAT(reader->ended->message, HasSubstr("no sign of life for 5000 ms"));
  EXPECT_EQ(attachment_.bounds().silent, 1u);
}

// Plan: after that, and at first, the client comes without a sign of the application, and then with
// one.
TEST_F(SidecarWatchdogTest, NobodyBeginsWithoutASign) {
  const auto refused = Attach(NewReader(), false);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, Refusal::Kind::kUnavailable);
  EXPECT_THAT(refused->message, HasSubstr("hello.alive is not set"));
  const auto first = Attached();
  clock_.Add(seconds(5));
  attachment_.Advance();
  EXPECT_TRUE(Attach(NewReader(), false, first->welcome->token()));
  EXPECT_FALSE(Attach(NewReader(), true, first->welcome->token()));
}

// Plan: a sign comes after the bound, before anybody has looked at the clock. Others may lead soon,
// so it must not count.
TEST_F(SidecarWatchdogTest, ALateSignBringsNothingBack) {
  const auto reader = Attached();
  clock_.Add(seconds(5));
  attachment_.NoteAlive(*reader);
  EXPECT_EQ(attachment_.state(), ApplicationState::kAbsent);
}

// Plan: the stream breaks, and the same application comes again without a new sign. It goes on, and
// the time since its last sign counts.
TEST_F(SidecarWatchdogTest, AReturnIsNoSign) {
  const auto reader = Attached();
  clock_.Add(seconds(3));
  attachment_.Ended(*reader);
  const auto again = NewReader();
  EXPECT_FALSE(Attach(again, false, reader->welcome->token()));
  EXPECT_TRUE(again->welcome->resumed());
  EXPECT_EQ(again->deadline, In(seconds(2)));
  clock_.Add(seconds(2));
  attachment_.Advance();
  EXPECT_EQ(attachment_.state(), ApplicationState::kAbsent);
}

}  // namespace
}  // namespace baton::sidecar
