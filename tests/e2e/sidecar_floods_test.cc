// Users without any right flood the port of the sidecar, at which an application is attached.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "e2e/etcd_client.h"
#include "e2e/floods.h"
#include "e2e/sidecar_runs.h"

namespace baton::e2e {
namespace {

struct Kind {
  const char* name;
  Part (*part)();
};

class SidecarFloods : public SidecarRuns, public testing::WithParamInterface<Kind> {
 protected:
  SidecarFloods() : SidecarRuns(std::chrono::seconds(3)) {}

  void Begin(const std::vector<std::string>& more = {}) {
    std::vector<std::string> flags{"--sidecar", "127.0.0.1:0"};
    flags.insert(flags.end(), more.begin(), more.end());
    node_ = &RunPython("n1", flags);
    before_ = cluster_.AwaitBalanced({"n1"});
    cluster_.Await("the application has acquired all", [&] { return Calls("acquired") == 12; });
    session_ = Session();
  }
  std::uint16_t Port() { return PortOf(Logged(*node_, "sidecar=")); }
  double Renewals() const {
    return cluster_.Metric("n1", "baton_lease_renewals_total{result=\"confirmed\"}");
  }
  /// The application's callbacks of this kind, as it prints them.
  std::size_t Calls(const std::string& kind) const {
    return Count(node_->Log(), "\n" + kind + " ");
  }

  /// The member's lease and its key's first revision.
  std::pair<std::int64_t, std::int64_t> Session() {
    const auto member = etcd_.Get(cluster_.Key("members/n1"));
    return member ? std::pair{member->lease(), member->create_revision()} : std::pair{0L, 0L};
  }
  /// The session and all terms are those of the beginning, and so is the application's attachment.
  void ExpectAllKept() {
    const Table after = cluster_.AwaitBalanced({"n1"});
    EXPECT_THAT(Moved(before_, after), testing::IsEmpty());
    EXPECT_THAT(Retermed(before_, after), testing::IsEmpty());
    EXPECT_EQ(Session(), session_);
    EXPECT_EQ(Calls("acquired"), 12u);
    EXPECT_EQ(Calls("lost"), 0u);
    for (const char* end : {"session lost", "is attached again", "the application is gone"}) {
      EXPECT_EQ(Count(node_->Log(), end), 0u) << end;
    }
  }

  NodeProcess* node_ = nullptr;

 private:
  EtcdClient etcd_{SharedEtcd().endpoints()};
  Table before_;
  std::pair<std::int64_t, std::int64_t> session_;
};

// Plan: a flood comes to the sidecar's port, by another user with each connection, until the node
// has ended as many of its connections as it has users, and for three leases at least. The node
// keeps its session and its terms, and the application stays attached. At the end it is the same
// one, and it answers: it releases its shards when the node drains.
TEST_P(SidecarFloods, TakeNeitherTheLeaseNorTheApplication) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  Begin();
  {
    const Flood strangers(Port(), {.part = GetParam().part(), .fresh_users = true});
    const double before = Renewals();
    cluster_.Await("renewals go on", [&] { return Renewals() >= before + 9; });
    cluster_.Await("they are cut off", [&] { return strangers.cut_off() >= Flood::kUsers; });
    ExpectAllKept();
  }
  node_->Signal(SIGTERM);
  const auto exit = node_->WaitExit();
  ASSERT_TRUE(exit.has_value()) << node_->Log();
  EXPECT_EQ(exit->code, 0) << node_->Log();
  EXPECT_EQ(Calls("releasing"), 12u) << node_->Log();
}

class SidecarReflection : public SidecarFloods {};

// Plan: --grpc-reflection is set. At the sidecar's port, where each connection has a server of its
// own, users without any role begin 1,200 streams of it. None of them holds a thread.
TEST_P(SidecarReflection, IsNotThere) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can connect as somebody else";
  constexpr std::ptrdiff_t kThreadsOfServer = 6;
  Begin({"--grpc-reflection"});
  const auto before = node_->threads();
  std::vector<Socket> held;
  while (held.size() < 4) {
    held.push_back(ConnectAs(kSomebody + static_cast<uid_t>(held.size()), Port()));
    const Socket& stranger = held.back();
    stranger.Send(Http2Greeting());
    cluster_.Await("its greeting", [&] { return stranger.Heard(); });
    stranger.Take();
    stranger.Send(ReflectionStreams(300));
    cluster_.Await("its answers", [&] { return stranger.Heard(); });
  }
  const double renewals = Renewals();
  cluster_.Await("renewals go on", [&] { return Renewals() >= renewals + 3; });
  EXPECT_LE(node_->threads(), before + 4 * kThreadsOfServer);
  ExpectAllKept();
}
INSTANTIATE_TEST_SUITE_P(Of, SidecarReflection, testing::Values(Kind{"Streams", nullptr}),
                         [](const auto& kind) { return std::string(kind.param.name); });

INSTANTIATE_TEST_SUITE_P(Of, SidecarFloods,
                         testing::Values(Kind{"CheapFrames", CheapFrames}, Kind{"Pings", Pings},
                                         Kind{"AHeaderInPieces", AHeaderInPieces},
                                         Kind{"CallsThatAreReset", CallsThatAreReset}),
                         [](const auto& kind) { return std::string(kind.param.name); });

}  // namespace
}  // namespace baton::e2e
