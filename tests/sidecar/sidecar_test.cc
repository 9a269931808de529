// A node whose leaderships another process acts on, with a real etcd and real connections: what the
// application is sent, and which shards the other node may take from it, and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <mutex>
#include <thread>

#include "base/subprocess.h"
#include "baton/v1/sidecar.grpc.pb.h"
#include "lab/private_etcd.h"
#include "runtime/control.h"
#include "runtime/node_application.h"
#include "runtime/state_file.h"
#include "sidecar/application.h"
#include "sidecar/server.h"

namespace baton::sidecar {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::Application;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr seconds kPatience{120};
constexpr std::uint32_t kShards = 8;

// Makes this thread, and those that it starts, see a kernel before Linux 6.5, which has no
// SO_PEERPIDFD. False: the kernel does not allow that.
bool ForgetPeerPidfd() {
  constexpr std::uint32_t kPeerPidfd = 77;
  const auto load = [](std::size_t offset) {
    return sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  };
  std::array<sock_filter, 6> rules{
      load(offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 3),
      load(offsetof(seccomp_data, args) + 2 * sizeof(seccomp_data::args[0])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kPeerPidfd, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{.len = rules.size(), .filter = rules.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    return false;
  }
  std::array<int, 2> pair{};
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) != 0) return false;
  int pidfd = -1;
  socklen_t length = sizeof(pidfd);
  errno = 0;
  getsockopt(pair[0], SOL_SOCKET, kPeerPidfd, &pidfd, &length);
  const bool forgotten = errno == ENOPROTOOPT;
  for (const int fd : pair) close(fd);
  return forgotten;
}

// Passes everything on to an attachment, and wakes a test that waits for another state. Polling
// through the node's loop would make it build the status of all shards again and again.
class WatchedAttachment final : public runtime::Application {
 public:
  explicit WatchedAttachment(std::shared_ptr<Attachment> attachment)
      : attachment_(std::move(attachment)) {}

  void Begin(std::function<void(core::ApplicationState)> changed,
             std::function<void(const core::StandbyReadySaid&)> said) override {
    attachment_->Begin(
        [this, changed = std::move(changed)](core::ApplicationState state) {
          changed(state);
          const std::lock_guard lock(mutex_);
          state_ = state;
          changed_.notify_all();
        },
        std::move(said));
  }
  void Run(const core::RunCallback& callback, Done done) override {
    attachment_->Run(callback, std::move(done));
  }
  void OnNotLed(ShardId shard) override { attachment_->OnNotLed(shard); }
  void OnChanged(core::ApplicationState state) override { attachment_->OnChanged(state); }
  void OnDeadline(TimePoint deadline) override { attachment_->OnDeadline(deadline); }
  core::ApplicationState state() const override { return attachment_->state(); }
  void End() override { attachment_->End(); }

  // Waits until `done` holds for the state.
  bool Await(const std::function<bool(core::ApplicationState)>& done) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return done(state_); });
  }

 private:
  const std::shared_ptr<Attachment> attachment_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  core::ApplicationState state_ = core::ApplicationState::kAbsent;
};

// n1 has a sidecar; n2 has none.
class SidecarTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = lab::PrivateEtcd::Start({});
    ASSERT_TRUE(started.ok()) << started.error().message;
    etcd_ = std::move(started).value();
  }
  static void TearDownTestSuite() { etcd_.reset(); }
  void TearDown() override {
    if (n1_ != nullptr) n1_->Stop();
    if (server_ != nullptr) server_->Stop();
    n2_.reset();
    n1_.reset();
    std::filesystem::remove(SocketPath());
  }

  static std::string Name() {
    return ::testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  static std::string SocketPath() { return etcd_->folder() + "/" + Name() + ".sock"; }
  NodeOptions Options(const NodeId& node) const {
    NodeOptions options;
    options.group = Name();
    options.shards = shards_;
    options.node = node;
    options.etcd.endpoints = etcd_->endpoints();
    options.ttl = ttl_;
    options.settle = milliseconds(200);
    options.rebalance_delay = milliseconds(100);
    options.cooldown = milliseconds(0);
    options.release_timeout = release_timeout_;
    options.callback_timeout = callback_timeout_;
    options.drain_timeout = drain_timeout_;
    options.state_dir = state_dir_;
    return options;
  }
  // Starts n1 with its sidecar, and without an application.
  void StartFirst(const std::string& address = "", std::size_t most_waiting = 0) {
    const auto parsed = ParseAddress(address.empty() ? "unix:" + SocketPath() : address);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    server_ = std::make_unique<Server>(AttachmentOptions{.group = Name(),
                                                         .node = "n1",
                                                         .shards = shards_,
                                                         .hash = HashFunction::kMurmur2,
                                                         .most_waiting = most_waiting},
                                       access_);
    const Status listening = server_->Listen(parsed.value());
    ASSERT_TRUE(listening.ok()) << listening.error().message;
    watched_ = std::make_shared<WatchedAttachment>(server_->attachment());
    auto node = runtime::NodeWithApplication::Start(Options("n1"), watched_);
    ASSERT_TRUE(node.ok()) << node.error().message;
    n1_ = std::move(node).value();
  }
  void StartSecond() {
    auto node = Node::Start(Options("n2"));
    ASSERT_TRUE(node.ok()) << node.error().message;
    n2_ = std::move(node).value();
  }
  test::ApplicationOptions To(const std::string& token = "") const {
    return {.address = server_->address(), .token = token};
  }
  std::uint32_t Leading(const Node& node) const {
    std::uint32_t count = 0;
    for (std::uint32_t s = 0; s < shards_; ++s) count += node.Leads(ShardId{s}) ? 1 : 0;
    return count;
  }
  // How many shards n1's application has taken up.
  std::uint32_t Activated() const {
    std::uint32_t count = 0;
    for (std::uint32_t s = 0; s < shards_; ++s) {
      count += n1_->Leadership(ShardId{s}).activated ? 1 : 0;
    }
    return count;
  }
  // How many applications were cut off so far.
  std::uint64_t CutOffs() const {
    const SidecarBounds bounds = server_->bounds();
    return bounds.unread + bounds.unanswered + bounds.slow_reader;
  }
  static std::shared_ptr<const runtime::NodeStatus> StatusOf(Node& node) {
    std::promise<std::shared_ptr<const runtime::NodeStatus>> answered;
    auto answer = answered.get_future();
    node.control().GetStatus([&](auto status) { answered.set_value(std::move(status)); });
    return answer.get();
  }
  // Polls through the node's loop, which paces it. Bounded.
  static bool Until(Node& node, const std::function<bool()>& done) {
    const TimePoint give_up = BootClock::now() + kPatience;
    while (BootClock::now() < give_up) {
      if (done()) return true;
      StatusOf(node);
    }
    return done();
  }

  static std::unique_ptr<lab::PrivateEtcd> etcd_;
  seconds ttl_{5};
  milliseconds release_timeout_{30'000};
  milliseconds callback_timeout_{30'000};
  milliseconds drain_timeout_{30'000};
  std::string state_dir_;
  std::uint32_t shards_ = kShards;
  const std::shared_ptr<access::Access> access_ =
      std::make_shared<access::Access>(access::Access::Defaults{});
  std::unique_ptr<Server> server_;
  std::shared_ptr<WatchedAttachment> watched_;
  std::unique_ptr<Node> n1_;
  std::unique_ptr<Node> n2_;
};
std::unique_ptr<lab::PrivateEtcd> SidecarTest::etcd_;

// Plan: n2 has all shards until an application attaches to n1, which then gets half of them. n2
// stops, and the application gets all. n2 comes back. Each shard's steps were sent in order.
TEST_F(SidecarTest, LeadsWithItsApplicationAndTellsItInOrder) {
  StartSecond();
  StartFirst();
  ASSERT_TRUE(Until(*n2_, [&] { return Leading(*n2_) == kShards; }));
  ASSERT_TRUE(
      Until(*n1_, [&] { return StatusOf(*n1_)->not_ready == "no application is attached"; }));
  Application application(To());
  ASSERT_TRUE(Until(*n1_, [&] { return application.Led().size() == kShards / 2; }));
  for (const auto& [shard, term] : application.Led()) {
    EXPECT_EQ(n1_->Leadership(ShardId{shard}).term.value, term);
    const auto told = application.told().at(shard);
    ASSERT_EQ(told.size(), 2u);
    EXPECT_THAT(told[0], HasSubstr("prepare"));
    EXPECT_EQ(told[1], "acquired " + std::to_string(term));
  }
  const auto before = application.Led();
  EXPECT_GT(application.deadline(), BootClock::now());
  EXPECT_TRUE(n1_->Drain().ok());
  EXPECT_TRUE(Until(*n2_, [&] { return Leading(*n2_) == kShards; }));
  for (const auto& held : before) {
    const std::uint32_t shard = held.first;
    const std::string number = std::to_string(held.second);
    ASSERT_TRUE(application.Await([&](const auto& told) { return told.at(shard).size() == 4; }));
    EXPECT_EQ(application.told().at(shard)[2], "releasing " + number);
    EXPECT_EQ(application.told().at(shard)[3], "lost " + number);
  }
  EXPECT_TRUE(application.Led().empty());
}

// Plan: the application fails each shard and says why. An operator reads its words.
TEST_F(SidecarTest, OperatorsReadWhyTheApplicationFails) {
  StartFirst();
  test::ApplicationOptions fails = To();
  fails.failure = "no\tdatabase";
  Application application(std::move(fails));
  ASSERT_TRUE(Until(*n1_, [&] { return !StatusOf(*n1_)->worst_failing.empty(); }));
  EXPECT_EQ(StatusOf(*n1_)->worst_failing.front().failing->last_error, R"(no\tdatabase)");
}

// Plan: when the application reads its first deadline, etcd already says `external`.
TEST_F(SidecarTest, TheMemberSaysExternalBeforeTheFirstDeadline) {
  StartFirst();
  Application application(To());
  ASSERT_TRUE(Until(*n1_, [&] { return application.deadline() != TimePoint::min(); }));
  StartSecond();  // it first reads etcd after the deadline was sent
  ASSERT_TRUE(n2_->WaitReady(kPatience).ok());
  const auto status = StatusOf(*n2_);
  for (const auto& member : status->members) {
    EXPECT_EQ(member.fact.external, member.fact.node == "n1") << member.fact.node;
  }
  EXPECT_EQ(status->members.size(), 2u);
}

// Plan: the stream breaks. n1 still leads, and the application comes back with the same terms and
// without callbacks in between.
TEST_F(SidecarTest, AStreamThatEndsChangesNothing) {
  ttl_ = seconds(30);
  StartFirst();
  std::string token;
  std::map<std::uint32_t, std::int64_t> led;
  {
    Application application(To());
    ASSERT_TRUE(Until(*n1_, [&] { return application.Led().size() == kShards; }));
    ASSERT_TRUE(Until(*n1_, [&] { return n1_->Leadership(ShardId{kShards - 1}).activated; }));
    token = application.AwaitToken();
    led = application.Led();
  }
  ASSERT_TRUE(Until(
      *n1_, [&] { return server_->attachment()->state() == core::ApplicationState::kDetached; }));
  EXPECT_EQ(Leading(*n1_), kShards);
  Application again(To(token));
  EXPECT_EQ(again.AwaitToken(), token);
  EXPECT_TRUE(again.resumed());
  ASSERT_TRUE(Until(*n1_, [&] { return again.Led().size() == kShards; }));
  EXPECT_EQ(again.Led(), led);
  for (const auto& [shard, told] : again.told()) {
    EXPECT_THAT(told, ElementsAre("led " + std::to_string(led.at(shard))));
  }
}

// Plan: TCP gives no proof of a death. n2 leads none of the application's shards before the last
// sent deadline, and all of them after it.
TEST_F(SidecarTest, WithoutProofTheLastDeadlineEndsIt) {
  ttl_ = seconds(3);
  StartFirst("127.0.0.1:0");
  TimePoint deadline;
  {
    Application application(To());
    ASSERT_TRUE(Until(*n1_, [&] { return application.Led().size() == kShards; }));
    StartSecond();
    ASSERT_TRUE(n2_->WaitReady(kPatience).ok());
    application.Disconnect();
    deadline = application.deadline();
  }
  const std::uint32_t before = Leading(*n2_);
  ASSERT_TRUE(Until(*n2_, [&] { return Leading(*n2_) > before; }));
  EXPECT_GE(BootClock::now(), deadline);
  EXPECT_TRUE(Until(*n2_, [&] { return Leading(*n2_) == kShards; }));
  EXPECT_EQ(Leading(*n1_), 0u);
}

// Plan: the lease lasts an hour. The process is killed, and n2 gets everything at once.
TEST_F(SidecarTest, TheDeathOfTheProcessEndsItAtOnce) {
  ttl_ = seconds(3600);
  StartFirst();
  auto process = Subprocess::Start({.arguments = {SIDECAR_APPLICATION, server_->address()}});
  ASSERT_TRUE(process.ok()) << process.error().message;
  ASSERT_TRUE(Until(*n1_, [&] { return Leading(*n1_) == kShards; }));
  StartSecond();
  ASSERT_TRUE(Until(*n2_, [&] { return Leading(*n2_) == kShards / 2; }));
  process.value()->Kill();
  EXPECT_TRUE(Until(*n2_, [&] { return Leading(*n2_) == kShards; }));
  // Another process takes part as soon as it attaches.
  Application next(To());
  EXPECT_TRUE(Until(*n1_, [&] { return next.Led().size() == kShards / 2; }));
}

// Plan: with a kernel before Linux 6.5, the program that batond runs leaves and comes back on new
// connections. None is refused, and its end is still proven: the lease lasts an hour.
TEST_F(SidecarTest, BeforeLinux65AProgramComesBackAndItsDeathIsProven) {
  ttl_ = seconds(3600);
  bool forgotten = false;
  std::thread([&] {
    forgotten = ForgetPeerPidfd();
    if (forgotten) StartFirst();
  }).join();
  if (!forgotten) GTEST_SKIP() << "no seccomp filter may be set here";
  ASSERT_NE(n1_, nullptr);
  std::unique_ptr<Subprocess> program;
  server_->StartChild([&] {
    auto started = Subprocess::Start({.arguments = {SIDECAR_APPLICATION, server_->address(), "8"}});
    if (!started.ok()) return 0;
    program = std::move(started).value();
    return program->pid();
  });
  ASSERT_NE(program, nullptr);
  ASSERT_TRUE(Until(*n1_, [&] { return Leading(*n1_) == kShards; }));
  StartSecond();
  ASSERT_TRUE(Until(*n2_, [&] { return Leading(*n2_) == kShards / 2; }));
  ASSERT_FALSE(program->Poll());
  program->Kill();
  EXPECT_TRUE(Until(*n2_, [&] { return Leading(*n2_) == kShards; }));
}

// Plan: the process hangs but lives. Its connection does not answer pings and is closed. Its last
// deadline ends it, not the lease.
TEST_F(SidecarTest, AProcessThatStandsStillIsNoticed) {
  ttl_ = seconds(5);
  StartFirst();
  auto process = Subprocess::Start({.arguments = {SIDECAR_APPLICATION, server_->address()}});
  ASSERT_TRUE(process.ok()) << process.error().message;
  ASSERT_TRUE(Until(*n1_, [&] { return Leading(*n1_) == kShards; }));
  StartSecond();
  ASSERT_TRUE(Until(*n2_, [&] { return Leading(*n2_) == kShards / 2; }));
  ASSERT_TRUE(process.value()->Freeze());
  EXPECT_TRUE(Until(*n2_, [&] { return Leading(*n2_) == kShards; }));
  EXPECT_EQ(server_->attachment()->state(), core::ApplicationState::kAbsent);
  EXPECT_FALSE(process.value()->Poll());
}

// Plan: another application comes while one is attached, and again after that one left.
TEST_F(SidecarTest, AnotherApplicationIsRefused) {
  StartFirst("127.0.0.1:0");
  Application first(To());
  ASSERT_NE(first.AwaitToken(), "");
  Application second(To());
  const auto refused = second.AwaitEnd();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, 6);  // ALREADY_EXISTS
  EXPECT_THAT(refused->message, HasSubstr("another application is attached"));
  Application other({.address = server_->address(), .group = "other"});
  const auto not_here = other.AwaitEnd();
  ASSERT_TRUE(not_here);
  EXPECT_EQ(not_here->code, 5);  // NOT_FOUND
  first.AnswerAnyway(0);
  const auto malformed = first.AwaitEnd();
  ASSERT_TRUE(malformed);
  EXPECT_EQ(malformed->code, 3);  // INVALID_ARGUMENT
  EXPECT_THAT(malformed->message, HasSubstr("operation 0"));
}

// Plan: words about standbys that never began are ignored: the stream goes on with the next word.
// Too many of them in one message end it.
TEST_F(SidecarTest, RefusesTooManyWordsAboutStandbysInOneMessage) {
  StartFirst();
  Application application(To());
  ASSERT_NE(application.AwaitToken(), "");
  application.SayReadyAnyway(10'000);
  application.SayReadyAnyway(10'001);
  const auto end = application.AwaitEnd();
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code, 3);  // INVALID_ARGUMENT
  EXPECT_EQ(end->message, "a message has 10001 standbys; send at most 10000 in one");
}

// Plan: this user may operate, but not lead: its application is refused, on a port as on a socket.
// With the role it attaches.
TEST_F(SidecarTest, AttachesTheUsersWhoMayLeadAlone) {
  for (const std::string address : {"127.0.0.1:0", "[::1]:0", ""}) {
    access_->SetRules({.users = {{geteuid(), access::Role::kOperate}}});
    StartFirst(address);
    Application refused(To());
    const auto end = refused.AwaitEnd();
    ASSERT_TRUE(end) << address;
    EXPECT_EQ(end->code, 7) << address;  // PERMISSION_DENIED
    EXPECT_THAT(end->message, HasSubstr("role lead")) << address;
    EXPECT_EQ(server_->attachment()->state(), core::ApplicationState::kAbsent);
    EXPECT_GE(server_->bounds().denied, 1u);
    access_->SetRules({.users = {{geteuid(), access::Role::kLead}}});
    Application taken(To());
    EXPECT_NE(taken.AwaitToken(), "") << address;
    TearDown();
  }
}

// Plan: a user who may not attach opens connection after connection and keeps them. Then one who
// may still finds a place.
TEST_F(SidecarTest, UsersWhoMayNotLeadLeavePlacesToThoseWhoMay) {
  access_->SetRules({.users = {{geteuid(), access::Role::kRead}}});
  StartFirst("127.0.0.1:0");
  const auto parsed = ParseAddress(server_->address());
  ASSERT_TRUE(parsed.ok());
  std::vector<int> sockets;
  for (std::size_t i = 0; i < 2 * kMaxConnections; ++i) {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_port = htons(parsed.value().port);
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    sockets.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(sockets.back(), reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
  }
  ASSERT_TRUE(Until(
      *n1_, [&] { return server_->bounds().connections >= 2 * kMaxConnections - kMaxDenied; }));
  access_->SetRules({});
  Application taken(To());
  EXPECT_NE(taken.AwaitToken(), "");
  access_->SetRules({.users = {{geteuid(), access::Role::kRead}}});
  for (const int fd : sockets) close(fd);
  EXPECT_TRUE(Until(*n1_, [&] {
    Application refused(To());
    const auto end = refused.AwaitEnd();
    return end && end->code == 7;  // PERMISSION_DENIED
  }));
}

// Plan: 8,000 shards are sent to an application that stops reading. It is cut off. On a machine
// that stands still for seconds, gRPC closes the connection before, because a ping has no answer:
// then the application attaches again. No lease and no callback runs out meanwhile.
TEST_F(SidecarTest, ASlowReaderIsCutOff) {
  constexpr int kUnavailable = 14;
  constexpr int kCancelled = 1;
  shards_ = 8'000;
  ttl_ = seconds(15);
  callback_timeout_ = std::chrono::minutes(10);  // after timeouts few shards are tried at a time
  StartFirst("", 1'000);
  std::string token;
  std::uint64_t counted = 0;  // in the last attempt
  std::optional<test::StreamEnd> end;
  const auto broken = [&] { return !end || end->code == kUnavailable || end->code == kCancelled; };
  for (int attempt = 0; attempt < 10 && broken(); ++attempt) {
    const std::uint64_t before = CutOffs();
    test::ApplicationOptions options = To(token);
    options.reads = false;
    options.succeeds_once = true;
    Application application(options);
    const std::string given = application.AwaitToken();
    if (!given.empty()) token = given;
    ASSERT_TRUE(watched_->Await([&](core::ApplicationState state) {
      if (given.empty()) return state == core::ApplicationState::kAbsent;  // it has no token
      return state != core::ApplicationState::kAttached;
    }));
    application.Read();
    end = application.AwaitEnd();
    ASSERT_TRUE(end);
    counted = CutOffs() - before;
    EXPECT_LE(counted, 1u);
  }
  EXPECT_EQ(end->code, 8) << end->message;  // RESOURCE_EXHAUSTED
  EXPECT_THAT(end->message, HasSubstr("cut off")) << "code " << end->code;
  EXPECT_EQ(counted, 1u) << "code " << end->code << ": " << end->message;
  EXPECT_EQ(server_->bounds().connections, 0u);
}

// Plan: the lock file of a node with a sidecar says that another process acts on the shards. So no
// guard ends the session when batond alone dies.
TEST_F(SidecarTest, TheStateDirectorySaysThatAnotherProcessActs) {
  state_dir_ = etcd_->folder() + "/" + Name();
  StartFirst();
  Application application(To());
  ASSERT_TRUE(Until(*n1_, [&] { return application.Led().size() == kShards; }));
  std::ifstream file(runtime::StateFileIn(state_dir_), std::ios::binary);
  const auto content =
      runtime::ParseStateFile(std::string(std::istreambuf_iterator<char>(file), {}));
  ASSERT_TRUE(content);
  EXPECT_NE(content->session, SessionId{});
  EXPECT_TRUE(content->external);
}

// Plan: nobody can be asked to stop. The drain waits for the last sent deadline, and says so.
TEST_F(SidecarTest, ADrainWithoutTheApplicationSaysWhatIsWrong) {
  ttl_ = seconds(3);
  release_timeout_ = callback_timeout_ = drain_timeout_ = milliseconds(500);
  StartFirst();
  {
    Application application(To());
    ASSERT_TRUE(Until(*n1_, [&] { return application.Led().size() == kShards; }));
  }
  ASSERT_TRUE(Until(
      *n1_, [&] { return server_->attachment()->state() == core::ApplicationState::kDetached; }));
  const Status drained = n1_->Drain();
  ASSERT_FALSE(drained.ok());
  EXPECT_THAT(drained.error().message, HasSubstr("the application was not connected"));
}

// Plan: 1,000 shards wait for an answer at once, without a thread for each. The application breaks
// off, comes back, is sent everything again, and answers.
TEST_F(SidecarTest, AThousandAnswersMayBeMissingAtOnce) {
  shards_ = 1'000;
  ttl_ = seconds(30);
  StartFirst();
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  std::string token;
  {
    test::ApplicationOptions options = To();
    options.silent = {"acquired"};
    options.succeeds_once = true;
    Application application(options);
    token = application.AwaitToken();
    const auto before = threads();
    ASSERT_TRUE(application.Await([](const auto& told) { return told.size() == 1'000; }));
    EXPECT_LT(threads(), before + 20);
    EXPECT_EQ(Leading(*n1_), 1'000u);
    EXPECT_EQ(Activated(), 1u);
  }
  Application again(To(token));
  ASSERT_TRUE(Until(*n1_, [&] { return Activated() == shards_; }));
  EXPECT_TRUE(again.resumed());
  EXPECT_EQ(again.told().at(7).size(), 1u);
}

// Plan: it never answers that it has stopped. The time limit passes, it is sent a stop, and the
// shard moves.
TEST_F(SidecarTest, ABoundThatIsExceededIsToldAsStop) {
  release_timeout_ = milliseconds(500);
  StartFirst();
  test::ApplicationOptions options = To();
  options.silent = {"releasing"};
  Application application(options);
  ASSERT_TRUE(Until(*n1_, [&] { return application.Led().size() == kShards; }));
  StartSecond();
  EXPECT_TRUE(application.Await([](const auto& told) {
    return std::any_of(told.begin(), told.end(), [](const auto& entry) {
      return entry.second.size() == 4 && entry.second[1].starts_with("releasing") &&
             entry.second[2].starts_with("stop") && entry.second[3].starts_with("lost");
    });
  }));
}

}  // namespace
}  // namespace baton::sidecar
