// A node's conclusions about an application in another process: from its answers, from the
// clock, and from proof.
#include "sidecar/attachment.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/subprocess.h"
#include "sidecar/reader.h"

namespace baton::sidecar {
namespace {

// For a process of a pid namespace of its own, in which the maker of `socket` is not visible: how
// an application that came back with its token fared. 0: it resumed.
int ResumedFromOutside(int socket) {
  const auto peer = PeerProcess::OfSocket(socket);
  if (peer == nullptr || peer->pid() != 0) return 3;
  HandClock clock;
  Attachment attachment(
      {.group = "orders", .node = "n1", .shards = 4, .hash = {}, .most_waiting = 8}, clock, [] {});
  attachment.Begin([](core::ApplicationState) {}, [](const core::StandbyReadySaid&) {});
  v1::AttachHello hello;
  hello.set_protocol(1);
  const auto first = std::make_shared<Reader>(attachment);
  if (attachment.Attach(first, hello, peer)) return 4;
  attachment.OnDeadline(clock.Now() + std::chrono::seconds(9));
  attachment.Ended(*first);
  hello.set_token(first->welcome->token());
  const auto again = std::make_shared<Reader>(attachment);
  return attachment.Attach(again, hello, peer) ? 5 : 0;
}

using core::ApplicationState;
using core::CallbackKind;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class AttachmentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    attachment_.Begin([this](ApplicationState state) { states_.push_back(state); },
                      [this](const core::StandbyReadySaid& word) {
                        said_.push_back("#" + std::to_string(word.operation) + " of " +
                                        std::to_string(word.shard.value) +
                                        (word.ready ? " ready" : " not ready"));
                      });
  }
  std::shared_ptr<Reader> NewReader() { return std::make_shared<Reader>(attachment_); }
  static v1::AttachHello Hello(const std::string& token = "", const PeerProcess* peer = nullptr) {
    v1::AttachHello hello;
    hello.set_protocol(1);
    hello.set_client("test");
    hello.set_token(token);
    if (peer != nullptr) hello.set_pid(peer->pid());
    return hello;
  }
  std::shared_ptr<Reader> Attached(const std::string& token = "",
                                   std::shared_ptr<const PeerProcess> peer = nullptr) {
    auto reader = NewReader();
    const v1::AttachHello hello = Hello(token, peer.get());
    const auto refusal = attachment_.Attach(reader, hello, std::move(peer));
    EXPECT_FALSE(refusal) << refusal->message;
    return reader;
  }
  void Run(std::uint64_t operation, CallbackKind kind, std::uint32_t shard = 0) {
    attachment_.Run({operation, ShardId{shard}, kind, Term{7}, Reason::kStartup},
                    [this, operation](bool ok, const std::string& error) {
                      done_.push_back(std::to_string(operation) + (ok ? " ok" : " failed") +
                                      (error.empty() ? "" : ": " + error));
                    });
  }
  static std::unique_ptr<Subprocess> Process() {
    auto process = Subprocess::Start({.arguments = {"sleep", "600"}});
    EXPECT_TRUE(process.ok()) << process.error().message;
    return std::move(process).value();
  }
  // The node processes all changes so far.
  void Seen() {
    for (const ApplicationState state : std::exchange(states_, {})) attachment_.OnChanged(state);
  }
  TimePoint In(Duration length) { return clock_.Now() + length; }

  HandClock clock_;
  std::vector<ApplicationState> states_;
  std::vector<std::string> done_;
  std::vector<std::string> said_;  // of standbys
  Attachment attachment_{
      {.group = "orders", .node = "n1", .shards = 4, .hash = {}, .most_waiting = 8}, clock_, [] {}};
};

// Plan: one shard's life. Each step is sent with its number; an answer completes it once.
TEST_F(AttachmentTest, TellsInOrderAndCompletesByAnswers) {
  const auto reader = Attached();
  EXPECT_EQ(reader->welcome->group(), "orders");
  EXPECT_FALSE(reader->welcome->resumed());
  attachment_.OnDeadline(In(seconds(9)));
  EXPECT_EQ(reader->deadline, In(seconds(9)));
  Run(1, CallbackKind::kPrepare);
  Run(2, CallbackKind::kAcquired);
  Run(3, CallbackKind::kSuspended);
  Run(4, CallbackKind::kReleasing);
  attachment_.Answer(*reader, 2, true);
  attachment_.Answer(*reader, 2, true);
  attachment_.Answer(*reader, 1, false);
  attachment_.Answer(*reader, 4, true);
  attachment_.OnNotLed(ShardId{0});  // it stopped when it answered
  Run(5, CallbackKind::kLost);
  EXPECT_THAT(reader->lines, ElementsAre("PREPARE 0 7 #1", "ACQUIRED 0 7 #2", "SUSPENDED 0 7",
                                         "RELEASING 0 7 #4", "LOST 0 7 #5"));
  EXPECT_THAT(done_, ElementsAre("3 ok", "2 ok", "1 failed", "4 ok"));
  EXPECT_THAT(states_, ElementsAre(ApplicationState::kAttached));
}

// Plan: the application says why a callback failed. The text may be anything; operators see one
// line of it. A reason beside a success means nothing.
TEST_F(AttachmentTest, PassesOnWhyACallbackFailed) {
  const auto reader = Attached();
  for (std::uint64_t i = 1; i <= 4; ++i) Run(i, CallbackKind::kAcquired);
  attachment_.Answer(*reader, 1, false, "no\ndisk \x1b[2J");
  attachment_.Answer(*reader, 2, false, std::string(5000, 'x'));
  attachment_.Answer(*reader, 3, false);
  attachment_.Answer(*reader, 4, true, "no disk");
  EXPECT_THAT(done_, ElementsAre("1 failed: no\\ndisk \\u001b[2J",
                                 "2 failed: " + std::string(256, 'x') + "...", "3 failed", "4 ok"));
}

// Plan: a release has exceeded its time limit, and the node gives the shard away.
TEST_F(AttachmentTest, TellsToStopWhoHasNotStopped) {
  const auto reader = Attached();
  Run(1, CallbackKind::kAcquired);
  Run(2, CallbackKind::kReleasing);
  attachment_.OnNotLed(ShardId{0});
  EXPECT_EQ(reader->lines.back(), "STOP 0 7");
}

// Plan: a release has exceeded its time limit and the move was given up, so the shard is acquired
// again before the answer. The late answer ends nothing.
TEST_F(AttachmentTest, ALateAnswerToAGivenUpReleaseEndsNothing) {
  const auto reader = Attached();
  Run(1, CallbackKind::kAcquired);
  Run(2, CallbackKind::kReleasing);
  Run(3, CallbackKind::kAcquired);
  for (const std::uint64_t operation : {1, 2, 3}) attachment_.Answer(*reader, operation, true);
  attachment_.OnNotLed(ShardId{0});
  EXPECT_EQ(reader->lines.back(), "STOP 0 7");
}

// Plan: the stream ends with 9 s left. No later deadline is sent. The application is absent exactly
// when those 9 s have passed, and then nothing waits for it.
TEST_F(AttachmentTest, AStreamThatEndsIsNoDeath) {
  const auto reader = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  Run(1, CallbackKind::kReleasing);
  const TimePoint told = reader->deadline;
  attachment_.Ended(*reader);
  EXPECT_EQ(attachment_.state(), ApplicationState::kDetached);
  clock_.Add(seconds(3));
  attachment_.OnDeadline(In(seconds(9)));
  clock_.Add(seconds(6) - milliseconds(1));
  EXPECT_EQ(attachment_.Advance(), told);
  EXPECT_THAT(done_, ElementsAre());
  clock_.Add(milliseconds(1));
  attachment_.Advance();
  EXPECT_THAT(states_, ElementsAre(ApplicationState::kAttached, ApplicationState::kDetached,
                                   ApplicationState::kAbsent));
  EXPECT_THAT(done_, ElementsAre("1 ok"));
}

// Plan: it comes back with its token. It is sent what it leads, and again what it has not answered.
TEST_F(AttachmentTest, GoesOnWithTheSameTerms) {
  const auto before = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  Run(1, CallbackKind::kAcquired, 0);
  Run(2, CallbackKind::kAcquired, 1);
  Run(3, CallbackKind::kAcquired, 2);
  for (const std::uint64_t operation : {1, 2}) attachment_.Answer(*before, operation, true);
  Run(4, CallbackKind::kReleasing, 1);
  attachment_.Ended(*before);
  Run(5, CallbackKind::kAcquired, 3);
  attachment_.OnDeadline(In(seconds(12)));
  EXPECT_LT(before->deadline, In(seconds(12)));
  const auto after = Attached(before->welcome->token());
  EXPECT_TRUE(after->welcome->resumed());
  EXPECT_EQ(after->deadline, In(seconds(12)));
  EXPECT_THAT(after->lines, ElementsAre("LED 0 7", "LED 1 7", "ACQUIRED 2 7 #3", "RELEASING 1 7 #4",
                                        "ACQUIRED 3 7 #5"));
  attachment_.Answer(*before, 4, true);  // from the stream that has ended, so it is ignored
  EXPECT_THAT(done_, ElementsAre("1 ok", "2 ok"));
  attachment_.Answer(*after, 4, true);
  EXPECT_EQ(done_.back(), "4 ok");
}

// Plan: a second application tries while one is attached, while one may still act, and after that.
TEST_F(AttachmentTest, AnotherComesInOnlyAfterTheLastDeadline) {
  const auto first = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  auto refused = attachment_.Attach(NewReader(), Hello(), nullptr);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, Refusal::Kind::kTaken);
  EXPECT_THAT(refused->message, HasSubstr("another application is attached"));
  attachment_.Ended(*first);
  refused = attachment_.Attach(NewReader(), Hello("no such token"), nullptr);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind, Refusal::Kind::kUnavailable);
  EXPECT_THAT(refused->message, HasSubstr("9000 ms"));
  clock_.Add(seconds(9));
  const auto second = Attached(first->welcome->token());
  EXPECT_FALSE(second->welcome->resumed());
  EXPECT_NE(second->welcome->token(), first->welcome->token());
}

// Plan: the attached application attaches again on another stream, and the old stream ends.
TEST_F(AttachmentTest, ItsNewStreamReplacesTheOld) {
  const auto before = Attached();
  const auto after = Attached(before->welcome->token());
  EXPECT_TRUE(after->welcome->resumed());
  ASSERT_TRUE(before->ended);
  Run(1, CallbackKind::kPrepare);
  EXPECT_EQ(after->lines.size(), 1u);
  attachment_.Ended(*before);
  EXPECT_EQ(attachment_.state(), ApplicationState::kAttached);
}

// Plan: an application died, and the next one attaches before the node has seen that. What the node
// asks for until then was meant for the dead one.
TEST_F(AttachmentTest, WhatWasMeantForTheDeadReachesNobody) {
  const auto process = Process();
  Attached("", PeerProcess::OfChild(process->pid()));
  Seen();
  Run(1, CallbackKind::kAcquired);
  process->Kill();
  attachment_.Advance();
  const auto next = Attached();
  Run(2, CallbackKind::kAcquired);
  attachment_.OnDeadline(In(seconds(9)));
  attachment_.OnNotLed(ShardId{0});
  EXPECT_THAT(done_, ElementsAre("1 ok", "2 ok"));
  EXPECT_THAT(next->lines, ElementsAre());
  EXPECT_EQ(next->deadline, TimePoint::min());
  Seen();
  Run(3, CallbackKind::kAcquired);
  EXPECT_THAT(next->lines, ElementsAre("ACQUIRED 0 7 #3"));
}

// Plan: a write that does not end; the ninth event exceeds the limit.
TEST_F(AttachmentTest, CutsOffWhoDoesNotRead) {
  const auto reader = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  reader->reads = false;
  for (std::uint64_t i = 1; i <= 9; ++i) Run(i, CallbackKind::kResumed);
  ASSERT_TRUE(reader->ended);
  EXPECT_EQ(reader->ended->kind, Refusal::Kind::kExhausted);
  EXPECT_THAT(reader->ended->message, HasSubstr("does not read"));
  EXPECT_EQ(attachment_.state(), ApplicationState::kDetached);
}

// Plan: there are only deadlines, and the newest could not be sent before the last one passed.
TEST_F(AttachmentTest, CutsOffWhoDoesNotReadItsDeadlines) {
  const auto reader = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  reader->reads = false;
  clock_.Add(seconds(5));
  attachment_.OnDeadline(In(seconds(9)));
  EXPECT_EQ(attachment_.Advance(), reader->deadline);
  clock_.Add(seconds(4));
  attachment_.Advance();
  EXPECT_EQ(attachment_.state(), ApplicationState::kAbsent);
  EXPECT_TRUE(reader->ended);
}

// Plan: the deadline passes while etcd is down, and then a new one comes. The application has a
// moment to take it.
TEST_F(AttachmentTest, WhoReadsIsNotCutOffAfterAnOutage) {
  const auto reader = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  clock_.Add(seconds(60));
  reader->reads = false;
  attachment_.OnDeadline(In(seconds(9)));
  EXPECT_EQ(attachment_.Advance(), In(seconds(1)));
  EXPECT_EQ(attachment_.state(), ApplicationState::kAttached);
  clock_.Add(seconds(1));
  attachment_.Advance();
  EXPECT_EQ(attachment_.state(), ApplicationState::kAbsent);
}

// Plan: the deadline passes while etcd is down. The application stays attached, and waits.
TEST_F(AttachmentTest, AnOutageIsNoAbsence) {
  const auto reader = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  clock_.Add(seconds(60));
  attachment_.Advance();
  EXPECT_EQ(attachment_.state(), ApplicationState::kAttached);
  attachment_.Ended(*reader);
  EXPECT_EQ(attachment_.state(), ApplicationState::kAbsent);
}

// Plan: a real process is killed, once while attached and once while detached.
TEST_F(AttachmentTest, AProvenDeathEndsItAtOnce) {
  for (const bool detached : {false, true}) {
    const auto process = Process();
    const auto peer = PeerProcess::OfChild(process->pid());
    ASSERT_NE(peer, nullptr);
    const auto reader = Attached("", peer);
    Seen();
    attachment_.OnDeadline(In(seconds(9)));
    if (detached) attachment_.Ended(*reader);
    attachment_.Advance();
    EXPECT_NE(attachment_.state(), ApplicationState::kAbsent);
    process->Kill();
    attachment_.Advance();
    EXPECT_EQ(attachment_.state(), ApplicationState::kAbsent);
    Seen();
  }
}

// Plan: a proxy that connected for the application dies; then the connecting process is dead
// already.
TEST_F(AttachmentTest, AnotherProcessesDeathIsNoProof) {
  const auto process = Process();
  const auto proxy = PeerProcess::OfChild(process->pid());
  const auto reader = NewReader();
  EXPECT_FALSE(attachment_.Attach(reader, Hello(), proxy));
  attachment_.OnDeadline(In(seconds(9)));
  process->Kill();
  attachment_.Advance();
  EXPECT_EQ(attachment_.state(), ApplicationState::kAttached);
  const auto refused = attachment_.Attach(NewReader(), Hello(reader->welcome->token()), proxy);
  ASSERT_TRUE(refused);
  EXPECT_THAT(refused->message, HasSubstr("has ended"));
}

// Plan: the process that connected is outside of this pid namespace, so its id is 0 here, and the
// application does not say its own. That is no match: it counts as a proxy, and the application
// resumes.
TEST(AttachmentInANamespace, AProcessThatIsNotVisibleProvesNothing) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const pid_t outer = fork();
  ASSERT_GE(outer, 0);
  if (outer == 0) {
    if (unshare(CLONE_NEWPID) != 0) _exit(2);
    const pid_t inner = fork();
    if (inner == 0) _exit(ResumedFromOutside(ends[0]));
    int status = 0;
    _exit(waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : 6);
  }
  int status = 0;
  ASSERT_EQ(waitpid(outer, &status, 0), outer);
  for (const int end : ends) close(end);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 2) GTEST_SKIP() << "this user may make no pid namespace";
  if (WEXITSTATUS(status) == 3) GTEST_SKIP() << "this kernel does not tell who connected";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Plan: another client of the same process comes without the token, and another process with it,
// both while the application is attached and while it is not. Only the process with the token
// resumes.
TEST_F(AttachmentTest, GoesOnWithBothTheProcessAndTheToken) {
  const auto process = Process();
  const auto forked = Process();
  const auto peer = PeerProcess::OfChild(process->pid());
  const auto fork = PeerProcess::OfChild(forked->pid());
  const auto reader = Attached("", peer);
  const std::string token = reader->welcome->token();
  attachment_.OnDeadline(In(seconds(9)));
  for (const auto kind : {Refusal::Kind::kTaken, Refusal::Kind::kUnavailable}) {
    const auto client = attachment_.Attach(NewReader(), Hello("", peer.get()), peer);
    const auto other = attachment_.Attach(NewReader(), Hello(token, fork.get()), fork);
    const auto unknown = attachment_.Attach(NewReader(), Hello(token), nullptr);
    ASSERT_TRUE(client && other && unknown);
    EXPECT_TRUE(client->kind == kind && other->kind == kind && unknown->kind == kind);
    attachment_.Ended(*reader);
  }
  EXPECT_TRUE(Attached(token, PeerProcess::OfChild(process->pid()))->welcome->resumed());
}

// Plan: more events wait than fit into a message, the last of them a stop, and a new deadline
// comes: it is sent together with the stop. An earlier deadline does not wait.
TEST_F(AttachmentTest, ALaterDeadlineDoesNotOvertakeAStop) {
  Attachment attachment(
      {.group = "orders", .node = "n1", .shards = 4, .hash = {}, .most_waiting = 10'000}, clock_,
      [] {});
  const auto reader = std::make_shared<Reader>(attachment);
  ASSERT_FALSE(attachment.Attach(reader, Hello(), nullptr));
  const auto taken = [&] {
    return TimePoint(Duration(attachment.Take(*reader)->deadline().boottime_ns()));
  };
  attachment.OnDeadline(In(seconds(9)));
  const TimePoint first = reader->deadline;
  attachment.Run({1, ShardId{0}, CallbackKind::kAcquired, Term{7}, Reason::kStartup},
                 [](bool, const std::string&) {});
  reader->reads = false;
  for (std::uint64_t i = 2; i < 9'000; ++i) {
    attachment.Run({i, ShardId{1}, CallbackKind::kResumed, Term{7}, Reason::kStartup},
                   [](bool, const std::string&) {});
  }
  attachment.OnNotLed(ShardId{0});
  clock_.Add(seconds(3));
  attachment.OnDeadline(In(seconds(9)));
  EXPECT_EQ(taken(), first);
  attachment.OnDeadline(In(seconds(1)));
  EXPECT_EQ(taken(), In(seconds(1)));
  attachment.OnDeadline(In(seconds(9)));
  EXPECT_EQ(taken(), In(seconds(9)));
}

// Plan: callbacks without an answer are overtaken by a stop, by a loss, and by the answer to a
// later release. When the application comes back, none of them is sent again.
TEST_F(AttachmentTest, WhatIsOverIsNotToldAgain) {
  const auto before = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  Run(1, CallbackKind::kAcquired, 0);
  attachment_.OnNotLed(ShardId{0});
  EXPECT_THAT(done_, ElementsAre(testing::StartsWith("1 failed: it had not returned")));
  done_.clear();
  Run(2, CallbackKind::kAcquired, 1);
  Run(3, CallbackKind::kReleasing, 1);
  Run(4, CallbackKind::kLost, 1);
  Run(5, CallbackKind::kAcquired, 2);
  Run(6, CallbackKind::kReleasing, 2);
  attachment_.Answer(*before, 6, true);
  EXPECT_THAT(done_, ElementsAre(testing::StartsWith("2 failed"), "3 ok",
                                 testing::StartsWith("5 failed"), "6 ok"));
  attachment_.Ended(*before);
  EXPECT_THAT(Attached(before->welcome->token())->lines, ElementsAre("LOST 1 7 #4"));
}

// Plan: two standbys begin, and one ends. Each event has a number and no term. A word counts while
// the standby that it names goes on; a word about the first standby is late once a second has
// begun.
TEST_F(AttachmentTest, AStandbySaysWhetherItIsReady) {
  const auto reader = Attached();
  Run(1, CallbackKind::kStandby, 1);
  Run(2, CallbackKind::kStandby, 2);
  attachment_.SayReady(*reader, 1, true);  // before its answer
  attachment_.Answer(*reader, 1, true);
  attachment_.SayReady(*reader, 2, true);
  attachment_.SayReady(*reader, 1, false);
  Run(3, CallbackKind::kStandbyEnded, 1);
  attachment_.SayReady(*reader, 1, true);
  attachment_.SayReady(*reader, 3, true);
  attachment_.SayReady(*reader, 99, true);
  Run(4, CallbackKind::kStandby, 1);
  attachment_.SayReady(*reader, 1, true);
  attachment_.SayReady(*reader, 4, true);
  EXPECT_THAT(reader->lines, ElementsAre("STANDBY 1 0 #1", "STANDBY 2 0 #2", "STANDBY_ENDED 1 0 #3",
                                         "STANDBY 1 0 #4"));
  EXPECT_THAT(said_,
              ElementsAre("#1 of 1 ready", "#2 of 2 ready", "#1 of 1 not ready", "#4 of 1 ready"));
}

// Plan: a standby takes its shard over; another shard's leadership ends before it was acquired. No
// word about them counts any more.
TEST_F(AttachmentTest, AStandbyEndsWithTheLeadership) {
  const auto reader = Attached();
  Run(1, CallbackKind::kStandby, 1);
  Run(2, CallbackKind::kStandby, 2);
  Run(3, CallbackKind::kPrepare, 1);
  attachment_.SayReady(*reader, 1, true);
  Run(4, CallbackKind::kAcquired, 1);
  Run(5, CallbackKind::kLost, 2);
  attachment_.SayReady(*reader, 1, false);
  attachment_.SayReady(*reader, 2, true);
  EXPECT_THAT(said_, ElementsAre("#1 of 1 ready"));
  EXPECT_THAT(done_, ElementsAre("1 ok", "2 ok"));
}

// Plan: the application comes back. Its standbys go on, and their words count on the new stream
// alone. It is sent again what it has not answered, with the same numbers.
TEST_F(AttachmentTest, StandbysGoOnWhenTheApplicationComesBack) {
  const auto before = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  Run(1, CallbackKind::kStandby, 1);
  attachment_.Answer(*before, 1, true);
  Run(2, CallbackKind::kStandby, 2);
  attachment_.Ended(*before);
  attachment_.SayReady(*before, 1, true);
  const auto after = Attached(before->welcome->token());
  EXPECT_TRUE(after->welcome->resumed());
  EXPECT_THAT(after->lines, ElementsAre("STANDBY 2 0 #2"));
  attachment_.SayReady(*before, 1, true);
  attachment_.SayReady(*after, 1, true);
  EXPECT_THAT(said_, ElementsAre("#1 of 1 ready"));
}

// Plan: the application answers nothing about its standbys. Shard 0's end and begin again, shard
// 1's ends, shard 2's ends and the shard is acquired. When the application comes back, no event of
// them undoes a newer one.
TEST_F(AttachmentTest, StandbysThatAreOverAreNotToldAgain) {
  const auto before = Attached();
  attachment_.OnDeadline(In(seconds(9)));
  for (std::uint64_t i = 1; i <= 3; i += 2) {
    Run(i, CallbackKind::kStandby, 0);
    Run(i + 1, CallbackKind::kStandbyEnded, 0);
  }
  Run(5, CallbackKind::kStandby, 0);
  Run(6, CallbackKind::kStandby, 1);
  Run(7, CallbackKind::kStandbyEnded, 1);
  Run(8, CallbackKind::kStandby, 2);
  Run(9, CallbackKind::kStandbyEnded, 2);
  Run(10, CallbackKind::kAcquired, 2);
  attachment_.Answer(*before, 10, true);
  EXPECT_THAT(done_, ElementsAre("1 ok", "3 ok", "2 ok", "6 ok", "8 ok", "9 ok", "10 ok"));
  attachment_.Ended(*before);
  EXPECT_THAT(
      Attached(before->welcome->token())->lines,
      ElementsAre("LED 2 7", "STANDBY_ENDED 0 0 #4", "STANDBY 0 0 #5", "STANDBY_ENDED 1 0 #7"));
}

// Plan: the application is gone, and another one attaches. It stands by for nothing until it is
// told, and the first one's numbers mean nothing.
TEST_F(AttachmentTest, StandbysEndWithTheirApplication) {
  const auto first = Attached();
  Run(1, CallbackKind::kStandby, 1);
  attachment_.Ended(*first);  // it has no deadline, so it is gone
  EXPECT_THAT(done_, ElementsAre("1 ok"));
  const auto second = Attached();
  Run(2, CallbackKind::kStandby, 2);  // meant for the first
  Seen();
  attachment_.SayReady(*second, 1, true);
  attachment_.SayReady(*second, 2, true);
  Run(3, CallbackKind::kStandby, 1);
  attachment_.SayReady(*second, 3, true);
  EXPECT_THAT(second->lines, ElementsAre("STANDBY 1 0 #3"));
  EXPECT_THAT(said_, ElementsAre("#3 of 1 ready"));
}

// Plan: everything that can be wrong in a hello. One line says which it is.
TEST_F(AttachmentTest, RefusesHellosThatAreOff) {
  const auto refused = [&](const std::function<void(v1::AttachHello&)>& change) {
    v1::AttachHello hello = Hello();
    change(hello);
    const auto refusal = attachment_.Attach(NewReader(), hello, nullptr);
    return refusal ? refusal->message : "";
  };
  const auto now = [&] { return clock_.Now().time_since_epoch().count(); };
  EXPECT_THAT(refused([](auto& h) { h.set_protocol(2); }), HasSubstr("hello.protocol is 2"));
  EXPECT_THAT(refused([](auto& h) { h.set_group("other"); }), HasSubstr("group 'orders'"));
  EXPECT_THAT(refused([](auto& h) { h.set_client(std::string(257, 'x')); }), HasSubstr("257"));
  EXPECT_THAT(refused([](auto& h) { h.set_token(std::string(65, 'x')); }), HasSubstr("65"));
  EXPECT_THAT(refused([&](auto& h) { h.set_boottime_ns(now() + 1); }), HasSubstr("BOOTTIME"));
  EXPECT_THAT(refused([&](auto& h) { h.set_boottime_ns(now() - 120'000'000'001); }),
              HasSubstr("BOOTTIME"));
  EXPECT_THAT(refused([](auto& h) { h.set_boottime_ns(INT64_MIN); }), HasSubstr("negative"));
  EXPECT_EQ(refused([&](auto& h) { h.set_boottime_ns(now()); }), "");
}

// Plan: a hello waited for a while until the node read it. Its application is asked to try again.
TEST_F(AttachmentTest, AHelloThatComesLateIsNoMistakeOfTheApplication) {
  for (const std::int64_t late : {5'000'000'001, 120'000'000'000}) {
    v1::AttachHello hello = Hello();
    hello.set_boottime_ns(clock_.Now().time_since_epoch().count() - late);
    const auto refusal = attachment_.Attach(NewReader(), hello, nullptr);
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->kind, Refusal::Kind::kUnavailable);
    EXPECT_THAT(refusal->message, HasSubstr("came late"));
  }
  v1::AttachHello hello = Hello();
  hello.set_boottime_ns(clock_.Now().time_since_epoch().count() - 5'000'000'000);
  EXPECT_FALSE(attachment_.Attach(NewReader(), hello, nullptr));
}

// Plan: after End nothing is completed and nothing changes; an attached application gets the news.
TEST_F(AttachmentTest, NothingIsCompletedAfterTheEnd) {
  const auto reader = Attached();
  Run(1, CallbackKind::kAcquired);
  Run(2, CallbackKind::kStandby, 1);
  attachment_.End();
  attachment_.Answer(*reader, 1, true);
  attachment_.SayReady(*reader, 2, true);
  attachment_.Ended(*reader);
  EXPECT_THAT(done_, ElementsAre());
  EXPECT_THAT(said_, ElementsAre());
  EXPECT_THAT(states_, ElementsAre(ApplicationState::kAttached));
  EXPECT_THAT(reader->ended.value().message, HasSubstr("is stopping"));
  EXPECT_TRUE(attachment_.Attach(NewReader(), Hello(), nullptr));
}

}  // namespace
}  // namespace baton::sidecar
