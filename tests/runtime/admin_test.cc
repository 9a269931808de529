// The admin service over a real gRPC server, with a fake node.
#include <ifaddrs.h>
#include <netdb.h>
#include <sys/socket.h>

#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <limits>

#include "baton/v1/admin.grpc.pb.h"
#include "runtime/admin/placement_proto.h"
#include "runtime/admin/proto_time.h"
#include "runtime/admin/status_proto.h"
#include "runtime/admin_server.h"

namespace baton::runtime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

class Client {
 public:
  explicit Client(const std::string& endpoint)
      : stub_(v1::AdminService::NewStub(
            grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials()))) {}

  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (v1::AdminService::Stub::*method)(grpc::ClientContext*,
                                                                   const Request&, Response*),
                    const Request& request, Response* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    return (stub_.get()->*method)(&context, request, response);
  }

 private:
  std::unique_ptr<v1::AdminService::Stub> stub_;
};

using Stub = v1::AdminService::Stub;

/// An address of this host that is not loopback; empty if it has none.
std::string OutsideAddress() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return "";
  std::string found;
  for (const ifaddrs* it = first; it != nullptr && found.empty(); it = it->ifa_next) {
    if (it->ifa_addr == nullptr || it->ifa_addr->sa_family != AF_INET) continue;
    char host[NI_MAXHOST];
    if (getnameinfo(it->ifa_addr, sizeof(sockaddr_in), host, sizeof host, nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    if (std::string(host).rfind("127.", 0) != 0) found = host;
  }
  freeifaddrs(first);
  return found;
}

// The status arrives whole: messages made from it equal the served ones, and after a round trip
// through values they are still the same.
TEST(AdminService, ServesTheWholePictureAndItReadsBackTheSame) {
  AdminServer server({"n1", "n2"}, 4);
  server.control.Freeze(true);
  server.control.Change([](NodeStatus& status) {
    status.halted = Error{ErrorCode::kFailedPrecondition, "other cluster"};
    status.members[0].fact.labels = {{"disk", "ssd"}, {"example.org/rack", "r7"}};
    status.shards[1].leader = "";
    status.shards[1].state = ShardState::kLeaderless;
    MoveFact move;
    move.shard = ShardId{2};
    move.to = "n1";
    move.phase = MovePhase::kPrepared;
    move.cause = {.kind = CauseKind::kRulePrefers, .rule = 2, .detail = "zone=a"};
    status.shards[2].cause = {.kind = CauseKind::kPassedOver, .detail = "n2"};
    status.shards[2].move = std::make_shared<const MoveFact>(move);
    status.counters.transitions[Reason::kDrain] = 3;
    status.counters.moves["done"] = 2;
    Transition transition;
    transition.reason = Reason::kLeaseExpired;
    transition.elect = std::chrono::nanoseconds(1'500'000'001);
    transition.cause.kind = CauseKind::kHasRoom;
    status.recent.push_back(transition);
    status.counters.activation_failures = 5;
    status.at = TimePoint(std::chrono::hours(5));
    status.shards[1].waits_for = "n2";
    status.shards[1].waits_for_directory = true;
    status.shards[1].others_from = status.at + std::chrono::seconds(40);
    status.shards[1].locked_until = status.at + std::chrono::milliseconds(2'500);
    status.shards[2].locked_until = status.at;  // over
    status.waiting_by_settings = 7;
    status.failover = {.policy = FailoverPolicy::kAfter,
                       .delay = std::chrono::milliseconds(30'500),
                       .lock_delay = std::chrono::seconds(10)};
    status.config_schema = 3;
    status.placement = {{.shards = {{0, 1}, {3, 3}},
                         .require = {{"zone", {"a", "b"}}, {"disk", {"ssd"}}},
                         .prefer = {{{"node", {"n1"}}}, {{"zone", {"b"}}}}},
                        {}};
    status.nobody_may_lead = 1;
    status.led_against_rules = 2;
    status.shards[1].rule = 1;
    status.shards[1].nobody_may_lead = true;
    status.shards[2].rule = 2;
    status.shards[2].led_against_rule = true;
    status.without_ready_standby = 1;
    status.standing_by = 6;
    status.ready_here = 5;
    status.shards[2].without_ready_standby = true;
    status.shards[3].standbys = std::make_shared<const std::vector<StandbyStatus>>(
        std::vector<StandbyStatus>{{"n2", "127.0.0.1:7402", true}, {"n3", "", false}});
  });
  server.control.FailActivation(ShardId{3}, 12, "no such table");
  v1::GetStatusRequest request;
  request.set_include_shards(true);
  v1::GetStatusResponse response;
  ASSERT_TRUE(Client(server.endpoint).Call(&Stub::GetStatus, request, &response).ok());

  v1::NodeStatus expected;
  ToProto(server.control.Now(), true, &expected);
  using google::protobuf::util::MessageDifferencer;
  EXPECT_TRUE(MessageDifferencer::Equals(response.status(), expected)) << response.DebugString();
  v1::NodeStatus again;
  ToProto(FromProto(response.status()), true, &again);
  EXPECT_TRUE(MessageDifferencer::Equals(again, expected)) << again.DebugString();
  ASSERT_EQ(response.moves_size(), 1);
  EXPECT_EQ(response.moves(0).phase(), v1::MoveStatus::PHASE_PREPARED);
}

// Plan: an answer that no node of ours gives: shards in the wrong order, and one twice. The first
// of the two counts; callers rely on the order.
TEST(StatusProto, PutsShardsInOrder) {
  v1::NodeStatus message;
  for (const std::uint32_t shard : {4u, 1u, 4u, 0u}) {
    auto* const added = message.add_shards();
    added->set_shard(shard);
    added->set_term(message.shards_size());
  }
  std::vector<std::pair<std::uint32_t, std::int64_t>> shards;
  for (const ShardStatus& shard : FromProto(message).shards) {
    shards.emplace_back(shard.shard.value, shard.term.value);
  }
  EXPECT_EQ(shards, (decltype(shards){{0, 4}, {1, 2}, {4, 1}}));
}

// 100,000 shards far exceed gRPC's default limit of 4 MiB per message, so they are sent only on
// request.
TEST(AdminService, SendsShardsOnlyWhereAskedFor) {
  AdminServer server({"n1"}, 8);
  v1::GetStatusResponse response;
  ASSERT_TRUE(
      Client(server.endpoint).Call(&Stub::GetStatus, v1::GetStatusRequest{}, &response).ok());
  EXPECT_EQ(response.status().shard_count(), 8u);
  EXPECT_EQ(response.status().shards_size(), 0);
}

TEST(AdminService, DescribesAShardAndSaysWhichExist) {
  AdminServer server({"n1", "n2"}, 4);
  Client client(server.endpoint);
  v1::DescribeShardRequest request;
  request.set_shard(3);
  v1::DescribeShardResponse response;
  ASSERT_TRUE(client.Call(&Stub::DescribeShard, request, &response).ok());
  EXPECT_EQ(response.shard().leader(), "n2");
  request.set_shard(4);
  const grpc::Status refused = client.Call(&Stub::DescribeShard, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(refused.error_message(), HasSubstr("shards 0 to 3"));
}

TEST(AdminService, PassesATransferOnWithTermAndActor) {
  AdminServer server({"n1", "n2"}, 4);
  v1::TransferShardRequest request;
  request.set_shard(0);
  request.set_to("n2");
  request.set_if_term(800);
  request.set_actor("ann@host");
  v1::TransferShardResponse response;
  ASSERT_TRUE(Client(server.endpoint).Call(&Stub::TransferShard, request, &response).ok());
  EXPECT_EQ(response.move().ends_term(), 800);
  ASSERT_THAT(server.control.Transfers(), SizeIs(1));
  EXPECT_THAT(server.control.Transfers()[0].actor,
              AllOf(StartsWith("ipv4:127.0.0.1:"), EndsWith(", says ann@host")));
  EXPECT_EQ(server.control.Transfers()[0].if_term, Term{800});
}

// Plan: a program that embeds a node may send the node's log anywhere. Who asked for a change is
// said there, not on stderr.
TEST(AdminService, SaysInTheNodesLogWhoAskedForAChange) {
  AdminServer server({"n1", "n2"}, 4);
  v1::TransferShardRequest request;
  request.set_shard(0);
  request.set_to("n2");
  request.set_actor("ann@host");
  v1::TransferShardResponse response;
  ASSERT_TRUE(Client(server.endpoint).Call(&Stub::TransferShard, request, &response).ok());
  EXPECT_THAT(server.control.Logged(),
              ElementsAre(AllOf(StartsWith("change verb=TransferShard "),
                                HasSubstr(" claimed=ann@host "), HasSubstr(" done=true "))));
}

TEST(AdminService, PassesARetryOnAndSaysWhyNot) {
  AdminServer server({"n1", "n2"}, 4);
  server.control.FailActivation(ShardId{1}, 12, "no such table");
  server.control.NextTry("no such table");
  v1::RetryShardRequest request;
  request.set_shard(1);
  request.set_actor("ann@host");
  v1::RetryShardResponse response;
  Client client(server.endpoint);
  ASSERT_TRUE(client.Call(&Stub::RetryShard, request, &response).ok());
  EXPECT_EQ(response.attempts(), 12u);
  ASSERT_THAT(server.control.Retries(), SizeIs(1));
  EXPECT_THAT(server.control.Retries()[0].actor, EndsWith(", says ann@host"));
  request.set_shard(0);
  const grpc::Status refused = client.Call(&Stub::RetryShard, request, &response);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(refused.error_message(), "it is active");
}

// Plan: what is not given stays unset; a delay of less than a millisecond does not become none.
TEST(AdminService, PassesAChangeOfTheGroupOn) {
  AdminServer server({"n1", "n2"}, 4);
  Client client(server.endpoint);
  v1::ChangeGroupRequest request;
  request.set_failover(v1::FailoverSettings::POLICY_AFTER);
  request.mutable_failover_delay()->set_seconds(30);
  request.set_actor("ann@host");
  v1::ChangeGroupResponse response;
  ASSERT_TRUE(client.Call(&Stub::ChangeGroup, request, &response).ok());
  request.Clear();
  request.mutable_lock_delay()->set_nanos(1);
  request.set_dry_run(true);
  ASSERT_TRUE(client.Call(&Stub::ChangeGroup, request, &response).ok());
  const auto changes = server.control.GroupChanges();
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].failover, FailoverPolicy::kAfter);
  EXPECT_EQ(changes[0].delay, std::chrono::seconds(30));
  EXPECT_EQ(changes[0].lock_delay, std::nullopt);
  EXPECT_FALSE(changes[0].dry_run);
  EXPECT_THAT(changes[0].actor, EndsWith(", says ann@host"));
  EXPECT_TRUE(changes[0].within.has_value());
  EXPECT_EQ(changes[1].failover, std::nullopt);
  EXPECT_EQ(changes[1].delay, std::nullopt);
  EXPECT_EQ(changes[1].lock_delay, std::chrono::milliseconds(1));
  EXPECT_TRUE(changes[1].dry_run);
}

// Plan: rules are set, and taken away. Both replace all that there were.
TEST(AdminService, PassesPlacementRulesOn) {
  AdminServer server({"n1", "n2"}, 4);
  Client client(server.endpoint);
  const Placement rules = {
      {.shards = {{0, 1}}, .require = {{"zone", {"a", "b"}}}, .prefer = {{{"node", {"n1"}}}}},
      {.shards = {}, .require = {}, .prefer = {}, .standbys = 2, .spread = "zone"}};
  v1::ChangeGroupRequest request;
  ToProto(rules, request.mutable_placement());
  v1::ChangeGroupResponse response;
  ASSERT_TRUE(client.Call(&Stub::ChangeGroup, request, &response).ok());
  EXPECT_EQ(server.control.Now().placement, rules);
  request.mutable_placement()->Clear();
  ASSERT_TRUE(client.Call(&Stub::ChangeGroup, request, &response).ok());
  const auto changes = server.control.GroupChanges();
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[1].placement, Placement{}) << "no rules is not the same as no change";
}

// Plan: rules out of bounds, and rules with other settings.
TEST(AdminService, RefusesUnsoundPlacementRules) {
  AdminServer server({"n1", "n2"}, 4);
  Client client(server.endpoint);
  v1::ChangeGroupRequest request;
  v1::ChangeGroupResponse response;
  request.mutable_placement()->add_rules();
  request.set_failover(v1::FailoverSettings::POLICY_NEVER);
  const grpc::Status both = client.Call(&Stub::ChangeGroup, request, &response);
  EXPECT_EQ(both.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(both.error_message(), "give placement without other settings");
  request.Clear();
  auto* const range = request.mutable_placement()->add_rules()->add_shards();
  range->set_first(9);
  range->set_last(3);
  const grpc::Status unsound = client.Call(&Stub::ChangeGroup, request, &response);
  EXPECT_EQ(unsound.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(unsound.error_message(),
            "placement: rule 1: shards: shards 9-3 are no range; give the lower number first, and "
            "none above 999999");
  request.mutable_placement()->mutable_rules(0)->clear_shards();
  request.mutable_placement()->mutable_rules(0)->set_standbys(9);
  EXPECT_EQ(client.Call(&Stub::ChangeGroup, request, &response).error_message(),
            "placement: rule 1: 9 standbys; give at most 8");
  for (int i = 0; i < 10'000; ++i) request.mutable_placement()->add_rules();
  EXPECT_EQ(FromProto(request.placement()).size(), kMaxPlacementRules + 1);
  EXPECT_EQ(client.Call(&Stub::ChangeGroup, request, &response).error_message(),
            "placement: 65 rules; give at most 64");
  EXPECT_THAT(server.control.GroupChanges(), SizeIs(0));
}

TEST(AdminService, RefusesAChangeOfTheGroupWithoutSettingsOrWithUnknownOnes) {
  AdminServer server({"n1", "n2"}, 4);
  Client client(server.endpoint);
  v1::ChangeGroupRequest request;
  v1::ChangeGroupResponse response;
  const grpc::Status empty = client.Call(&Stub::ChangeGroup, request, &response);
  EXPECT_EQ(empty.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(empty.error_message(), "give at least one setting");
  request.set_failover(static_cast<v1::FailoverSettings::Policy>(4));
  const grpc::Status unknown = client.Call(&Stub::ChangeGroup, request, &response);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(unknown.error_message(), "failover is no policy that this version knows");
  EXPECT_THAT(server.control.GroupChanges(), SizeIs(0));
}

// Plan: only with the group's and the shard's name; a dry run needs none.
TEST(AdminService, ReleasesOnlyAShardThatIsConfirmed) {
  AdminServer server({"n1", "n2"}, 4);
  server.control.Change([](NodeStatus& status) {
    status.shards[3].leader = "";
    status.shards[3].waits_for = "n2";
  });
  Client client(server.endpoint);
  v1::ReleaseShardRequest request;
  request.set_shard(3);
  v1::ReleaseShardResponse response;
  for (const char* wrong : {"", "orders/2", "bills/3", "orders/3 "}) {
    request.set_confirm(wrong);
    const grpc::Status refused = client.Call(&Stub::ReleaseShard, request, &response);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_EQ(refused.error_message(), "a shard is released only if confirm is \"orders/3\"");
  }
  EXPECT_THAT(server.control.Releases(), SizeIs(0));
  request.clear_confirm();
  request.set_dry_run(true);
  ASSERT_TRUE(client.Call(&Stub::ReleaseShard, request, &response).ok());
  request.set_confirm("orders/3");
  request.set_dry_run(false);
  request.set_actor("ann@host");
  ASSERT_TRUE(client.Call(&Stub::ReleaseShard, request, &response).ok());
  const auto releases = server.control.Releases();
  ASSERT_THAT(releases, SizeIs(2));
  EXPECT_TRUE(releases[0].dry_run);
  EXPECT_FALSE(releases[1].dry_run);
  EXPECT_EQ(releases[1].shard, ShardId{3});
  EXPECT_THAT(releases[1].actor, EndsWith(", says ann@host"));
  EXPECT_TRUE(releases[1].within.has_value());
}

// Plan: what is not given stays unset. The answer has what the node has then; a dry run asks, too.
TEST(AdminService, PassesAChangeOfTheNodeOn) {
  AdminServer server({"n1", "n2"}, 4);
  Client client(server.endpoint);
  v1::SetNodeRequest request;
  request.set_node("n1");
  request.set_actor("ann@host");
  (*request.mutable_labels())["disk"] = "ssd";
  request.add_remove_labels("rack");
  v1::SetNodeResponse response;
  ASSERT_TRUE(client.Call(&Stub::SetNode, request, &response).ok());
  EXPECT_TRUE(response.changed());
  EXPECT_EQ(response.weight(), 1u);
  EXPECT_EQ(response.labels().at("disk"), "ssd");
  request.set_weight(0);
  request.set_dry_run(true);
  ASSERT_TRUE(client.Call(&Stub::SetNode, request, &response).ok());
  EXPECT_EQ(response.weight(), 0u);
  const auto changes = server.control.NodeChanges();
  ASSERT_THAT(changes, SizeIs(2));
  EXPECT_EQ(changes[0].change, (NodeChange{.labels = {{"disk", "ssd"}}, .removed = {"rack"}}));
  EXPECT_THAT(changes[0].actor, EndsWith(", says ann@host"));
  EXPECT_EQ(changes[1].change.weight, 0u);
  EXPECT_TRUE(changes[1].dry_run);
}

// Plan: no node's name, no change, a label that no flag could set; then another node.
TEST(AdminService, RefusesAChangeOfTheNodeThatMakesNoSense) {
  AdminServer server({"n1", "n2"}, 4);
  Client client(server.endpoint);
  v1::SetNodeRequest request;
  v1::SetNodeResponse response;
  const auto refusal = [&] { return client.Call(&Stub::SetNode, request, &response); };
  request.set_node("n/1");
  request.set_weight(3);
  EXPECT_EQ(refusal().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(server.control.NodeChanges(), SizeIs(0));
  request.set_node("n1");
  request.clear_weight();
  EXPECT_EQ(refusal().error_message(), "nothing to change; give a weight or a label");
  (*request.mutable_labels())["zone"] = "a";
  EXPECT_EQ(refusal().error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(refusal().error_message(), "label 'zone' is the node's zone already; leave it out");
  request.set_node("n2");
  EXPECT_EQ(refusal().error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

// Callers' texts become part of etcd's records and keys: an actor is one line with a bound, cut
// between characters, and a node must have a valid name.
TEST(AdminService, WritesNoActorThatNobodyCanRead) {
  AdminServer server({"n1", "n2"}, 4);
  v1::TransferShardRequest request;
  request.set_to("n2");
  request.set_actor(std::string(127, 'a') + "\xC3\xA9");
  v1::TransferShardResponse response;
  ASSERT_TRUE(Client(server.endpoint).Call(&Stub::TransferShard, request, &response).ok());
  ASSERT_THAT(server.control.Transfers(), SizeIs(1));
  const std::string cut = server.control.Transfers()[0].actor;
  EXPECT_THAT(cut,
              AllOf(StartsWith("ipv4:127.0.0.1:"), HasSubstr(", says aaa"), EndsWith("aaa...")));
  EXPECT_EQ(cut.size(), 128u);
  request.set_actor("root@prod\xC2\x9B\x33\x31m\xE2\x80\xAEgnp.exe\xE2\x80\xA8key=1");
  ASSERT_TRUE(Client(server.endpoint).Call(&Stub::TransferShard, request, &response).ok());
  ASSERT_THAT(server.control.Transfers(), SizeIs(2));
  EXPECT_THAT(server.control.Transfers()[1].actor,
              EndsWith(", says root@prod\\u009b31m\\u202egnp.exe\\u2028key=1"));
}

TEST(AdminService, RefusesNodesWithoutAName) {
  AdminServer server({"n1", "n2"}, 4);
  Client client(server.endpoint);
  const std::string longest(1 << 19, 'n');
  for (const std::string& node : {std::string(), std::string("n2/../pause"), longest}) {
    v1::TransferShardRequest transfer;
    transfer.set_to(node);
    v1::UndrainNodeRequest undrain;
    undrain.set_node(node);
    v1::TransferShardResponse moved;
    v1::UndrainNodeResponse undrained;
    for (const grpc::Status& refused : {client.Call(&Stub::TransferShard, transfer, &moved),
                                        client.Call(&Stub::UndrainNode, undrain, &undrained)}) {
      EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
      EXPECT_THAT(refused.error_message(),
                  HasSubstr("is not a valid node name; expected 1 to 128"));
      EXPECT_LT(refused.error_message().size(), 300U);
    }
  }
  EXPECT_THAT(server.control.Transfers(), SizeIs(0));
  EXPECT_THAT(server.control.Policies(), SizeIs(0));
}

// Every kind of error keeps its message, and has the status code that clients expect.
TEST(AdminService, GivesEveryErrorItsStatus) {
  AdminServer server({"n1"}, 1);
  Client client(server.endpoint);
  const std::pair<ErrorCode, grpc::StatusCode> cases[] = {
      {ErrorCode::kInvalidArgument, grpc::StatusCode::INVALID_ARGUMENT},
      {ErrorCode::kNotFound, grpc::StatusCode::NOT_FOUND},
      {ErrorCode::kFailedPrecondition, grpc::StatusCode::FAILED_PRECONDITION},
      {ErrorCode::kUnavailable, grpc::StatusCode::UNAVAILABLE},
      {ErrorCode::kTimedOut, grpc::StatusCode::DEADLINE_EXCEEDED},
      {ErrorCode::kInternal, grpc::StatusCode::INTERNAL}};
  for (const auto& [code, expected] : cases) {
    server.control.FailAll(Error{code, "why"});
    v1::PauseBalanceResponse response;
    const grpc::Status status =
        client.Call(&Stub::PauseBalance, v1::PauseBalanceRequest{}, &response);
    EXPECT_EQ(status.error_code(), expected);
    EXPECT_EQ(status.error_message(), "why");
  }
}

// A request from another address of this host looks like one from another host: reads are allowed,
// changes are refused, unless allow_remote is set.
TEST(AdminService, RefusesChangesFromOtherHostsUnlessAllowed) {
  const std::string host = OutsideAddress();
  if (host.empty()) GTEST_SKIP() << "this machine has no address but loopback";
  v1::PauseBalanceResponse response;
  {
    AdminServer server({"n1"}, 1, {}, host);
    Client client(server.endpoint);
    const grpc::Status refused =
        client.Call(&Stub::PauseBalance, v1::PauseBalanceRequest{}, &response);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_THAT(refused.error_message(), HasSubstr("AdminOptions"));
    EXPECT_THAT(server.control.Policies(), SizeIs(0));
    v1::GetStatusResponse status;
    EXPECT_TRUE(client.Call(&Stub::GetStatus, v1::GetStatusRequest{}, &status).ok());
  }
  AdminServer open({"n1"}, 1, {.allow_remote = true}, host);
  EXPECT_TRUE(
      Client(open.endpoint).Call(&Stub::PauseBalance, v1::PauseBalanceRequest{}, &response).ok());
}

// Plan: times that protobuf can hold and the clock can't, at both ends; nanoseconds that amount to
// seconds; and an ordinary time.
TEST(ProtoTime, TakesTimesOfAnySize) {
  using Time = std::chrono::system_clock::time_point;
  const auto of = [](std::int64_t seconds, std::int32_t nanos) {
    google::protobuf::Timestamp timestamp;
    timestamp.set_seconds(seconds);
    timestamp.set_nanos(nanos);
    return TimeOf(timestamp);
  };
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(of(kMax, 0), Time::max());
  EXPECT_EQ(of(-kMax, 0), Time::min());
  EXPECT_EQ(of(253'402'300'799, 0), Time::max());
  EXPECT_EQ(of(-62'135'596'800, 0), Time::min());
  constexpr std::int32_t kNanos = std::numeric_limits<std::int32_t>::max();
  constexpr std::int64_t kClocksLast = kMax / 1'000'000'000;
  for (std::int64_t before = 0; before < 5; ++before) {
    EXPECT_GT(of(kClocksLast - before, kNanos), Time{}) << before;
    EXPECT_LT(of(before - kClocksLast, -kNanos), Time{}) << before;
  }
  EXPECT_EQ(of(1'700'000'000, 5), Time(std::chrono::nanoseconds(1'700'000'000'000'000'005)));
}

// Plan: the same for durations. A duration that was cut is written as the cut one, and three can be
// added up.
TEST(ProtoTime, TakesDurationsOfAnySize) {
  using std::chrono::nanoseconds;
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int32_t kNanos = std::numeric_limits<std::int32_t>::max();
  constexpr nanoseconds kLongest = nanoseconds::max() / 4;
  const auto of = [](std::int64_t whole, std::int32_t nanos) {
    google::protobuf::Duration duration;
    duration.set_seconds(whole);
    duration.set_nanos(nanos);
    const nanoseconds read = NanosecondsOf(duration);
    EXPECT_EQ(NanosecondsOf(DurationOf(read)), read) << whole << ' ' << nanos;
    return read;
  };
  for (const std::int64_t whole : {kMax, kMax / 1'000'000'000, kMax / 3'000'000'000}) {
    EXPECT_EQ(of(whole, kNanos), kLongest) << whole;
    EXPECT_EQ(of(-whole, -kNanos), -kLongest) << whole;
  }
  EXPECT_EQ(of(2, 5), nanoseconds(2'000'000'005));
  EXPECT_EQ(of(-2, -5), nanoseconds(-2'000'000'005));
  EXPECT_GT(kLongest + kLongest + kLongest, kLongest);
}

// A newer node may use words that this version doesn't know. They are read as harmless ones.
TEST(StatusProto, ReadsUnknownWordsAsHarmlessOnes) {
  v1::ShardStatus shard;
  shard.set_state(static_cast<v1::ShardStatus::State>(99));
  shard.set_reason(static_cast<v1::TransitionStatus::Reason>(99));
  EXPECT_EQ(FromProto(shard).state, ShardState::kLeaderless);
  EXPECT_EQ(FromProto(shard).reason, Reason::kOperator);
  for (const int kind : {-1, 99}) {
    shard.mutable_cause()->set_kind(static_cast<v1::Cause::Kind>(kind));
    EXPECT_EQ(FromProto(shard).cause, Cause{}) << kind;
  }
}

}  // namespace
}  // namespace baton::runtime
