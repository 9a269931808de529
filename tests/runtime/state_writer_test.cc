// The thread that writes the record: it keeps the order, and holds nobody up.
#include "runtime/state_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include "runtime/manual_time.h"

namespace baton::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A disk that stands still while the test wants that, and what reached it.
class Disk {
 public:
  void Freeze() {
    const std::lock_guard lock(mutex_);
    frozen_ = true;
  }
  void Thaw() {
    const std::lock_guard lock(mutex_);
    frozen_ = false;
    changed_.notify_all();
  }
  void Fail(bool fails) {
    const std::lock_guard lock(mutex_);
    fails_ = fails;
  }
  Status Write(const std::string& what) {
    std::unique_lock lock(mutex_);
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !frozen_; });
    if (fails_) return Error{ErrorCode::kUnavailable, "full"};
    written_.push_back(what);
    changed_.notify_all();
    return Ok();
  }
  void AwaitBegun(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_ >= count; });
  }
  void Close() { closed_.set_value(); }
  void AwaitClosed() { closed_.get_future().wait(); }
  std::vector<std::string> written() {
    const std::lock_guard lock(mutex_);
    return written_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::promise<void> closed_;
  std::vector<std::string> written_;
  int begun_ = 0;
  bool frozen_ = false;
  bool fails_ = false;
};

class DiskRecord final : public StateRecord {
 public:
  explicit DiskRecord(Disk& disk) : disk_(disk) {}
  ~DiskRecord() override { disk_.Close(); }
  Status RecordSession(const RecordedSession& session) override {
    return disk_.Write("session " + std::to_string(session.session.value) + " replaces " +
                       std::to_string(session.replaces.value));
  }
  Status RecordHighest(Revision revision) override {
    return disk_.Write("highest " + std::to_string(revision.value));
  }

 private:
  Disk& disk_;
};

struct StateWriterTest : public ::testing::Test {
  std::unique_ptr<StateWriter> Writer() {
    return std::make_unique<StateWriter>(std::make_unique<DiskRecord>(disk), time);
  }
  Disk disk;
  ManualTime time;
};

// Plan: a node's life. Its end waits until all is written.
TEST_F(StateWriterTest, WritesInOrderAndAllBeforeItsEnd) {
  auto writer = Writer();
  EXPECT_TRUE(writer->RecordSession({.session = SessionId{1}}).ok());
  disk.AwaitBegun(1);
  EXPECT_TRUE(writer->RecordHighest(Revision{7}).ok());
  disk.AwaitBegun(2);
  EXPECT_TRUE(writer->RecordSession({}).ok());
  writer.reset();
  EXPECT_THAT(disk.written(),
              ElementsAre("session 1 replaces 0", "highest 7", "session 0 replaces 0"));
}

// Plan: the disk stands still under the first write, and the node goes on: it gets two more
// sessions and renews. Once the disk goes on, the file says what it would have said: the newest
// session, and the one before that may hold the member key.
TEST_F(StateWriterTest, ADiskThatStandsStillHoldsNobodyUp) {
  auto writer = Writer();
  disk.Freeze();
  EXPECT_TRUE(writer->RecordSession({.session = SessionId{1}}).ok());
  disk.AwaitBegun(1);
  EXPECT_TRUE(writer->RecordSession({.session = SessionId{2}}).ok());
  EXPECT_TRUE(writer->RecordHighest(Revision{9}).ok());
  EXPECT_TRUE(writer->RecordSession({.session = SessionId{3}}).ok());
  EXPECT_TRUE(writer->RecordHighest(Revision{8}).ok());
  EXPECT_THAT(disk.written(), IsEmpty());
  disk.Thaw();
  writer.reset();
  EXPECT_THAT(disk.written(),
              ElementsAre("session 1 replaces 0", "session 3 replaces 2", "highest 9"));
}

// Plan: another process acts on the session that was never written, so its death proves nothing.
TEST_F(StateWriterTest, AnExternalSessionThatWasNotWrittenIsNoneToBeEnded) {
  auto writer = Writer();
  disk.Freeze();
  EXPECT_TRUE(writer->RecordSession({.session = SessionId{1}, .external = true}).ok());
  disk.AwaitBegun(1);
  EXPECT_TRUE(writer->RecordSession({.session = SessionId{2}, .external = true}).ok());
  EXPECT_TRUE(writer->RecordSession({.session = SessionId{3}, .external = true}).ok());
  disk.Thaw();
  writer.reset();
  EXPECT_THAT(disk.written(), ElementsAre("session 1 replaces 0", "session 3 replaces 0"));
}

// Plan: after a while callers hear of a write that stands still, and no longer once it is done.
TEST_F(StateWriterTest, TellsThatTheDiskStandsStill) {
  auto writer = Writer();
  disk.Freeze();
  EXPECT_TRUE(writer->RecordSession({.session = SessionId{1}}).ok());
  disk.AwaitBegun(1);
  time.Elapse(StateWriter::kStandsStill);
  EXPECT_TRUE(writer->RecordHighest(Revision{1}).ok());
  time.Elapse(std::chrono::milliseconds(1));
  EXPECT_THAT(writer->RecordHighest(Revision{2}).error().message, HasSubstr("stands still"));
  disk.Thaw();
  disk.AwaitBegun(2);
  EXPECT_TRUE(writer->RecordHighest(Revision{3}).ok());
}

// Plan: a full disk. A call gives the failure, once.
TEST_F(StateWriterTest, SaysAFailureOnce) {
  auto writer = Writer();
  disk.Fail(true);
  std::string said;
  const auto note = [&said](const Status& status) {
    if (!status.ok()) said += status.error().message;
  };
  note(writer->RecordSession({.session = SessionId{1}}));
  disk.AwaitBegun(1);
  disk.Fail(false);
  note(writer->RecordHighest(Revision{1}));
  disk.AwaitBegun(2);  // it begins once the failure is noted
  note(writer->RecordHighest(Revision{2}));
  EXPECT_EQ(said, "full");
  EXPECT_TRUE(writer->RecordHighest(Revision{3}).ok());
}

// Plan: the node ends while the disk stands still. It does not wait for ever; the record, and with
// it the lock, is let go once the disk goes on.
TEST_F(StateWriterTest, EndsWhileTheDiskStandsStill) {
  auto writer = Writer();
  disk.Freeze();
  writer->RecordSession({.session = SessionId{1}}).ok();
  disk.AwaitBegun(1);
  writer.reset();
  EXPECT_THAT(disk.written(), IsEmpty());
  disk.Thaw();
  disk.AwaitClosed();
  EXPECT_THAT(disk.written(), ElementsAre("session 1 replaces 0"));
}

}  // namespace
}  // namespace baton::runtime
