// batond's log lines about an application in another process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "sidecar/attachment.h"
#include "sidecar/reader.h"

namespace baton::sidecar {
namespace {

using core::CallbackKind;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The log at the end of the stream of an application that leads a shard, or has lost it before.
std::string LoggedAtTheEnd(bool lost) {
  HandClock clock;
  Attachment attachment({.group = "orders", .node = "n1", .shards = 4, .hash = {}}, clock, [] {});
  const auto reader = std::make_shared<Reader>(attachment);
  v1::AttachHello hello;
  hello.set_protocol(1);
  EXPECT_FALSE(attachment.Attach(reader, hello, nullptr));
  attachment.OnDeadline(clock.Now() + seconds(9));
  const auto run = [&](std::uint64_t operation, CallbackKind kind) {
    attachment.Run({operation, ShardId{0}, kind, Term{7}, Reason::kStartup},
                   [](bool, const std::string&) {});
  };
  run(1, CallbackKind::kAcquired);
  if (lost) run(2, CallbackKind::kLost);
  testing::internal::CaptureStderr();
  attachment.Ended(*reader);
  clock.Add(seconds(9));
  attachment.Advance();
  return testing::internal::GetCapturedStderr();
}

TEST(AttachmentLog, TheEndOfAnApplicationIsAWarningOnlyIfItLeads) {
  EXPECT_THAT(LoggedAtTheEnd(false),
              AllOf(HasSubstr(" warn  the application's stream ended; it keeps its shards until "),
                    HasSubstr(" warn  the application is gone: the last deadline")));
  EXPECT_THAT(LoggedAtTheEnd(true),
              AllOf(HasSubstr(" info  the application's stream ended; it led nothing"),
                    HasSubstr(" info  the application is gone: "), Not(HasSubstr("warn"))));
}

}  // namespace
}  // namespace baton::sidecar
