// requests: gRPC requests of strangers to a node: any bytes as requests of baton.v1.AdminService
// and baton.v1.RoutingService, through the real services, on a group in memory.
//
// Must hold: every call is answered (of a stream, the target waits for the first message). A
// refusal is one line that fits into an answer's trailers. Answers can be read. In what reaches the
// node, a node's name is valid, and the actor's name is text that etcd's records can hold.
#include <google/protobuf/descriptor.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <memory>
#include <utility>

#include "base/limits.h"
#include "base/placement.h"
#include "base/text_rules.h"
#include "baton/v1/admin.pb.h"
#include "baton/v1/records.pb.h"
#include "baton/v1/routing.pb.h"
#include "fuzz/targets.h"
#include "routing/server/route_server.h"
#include "routing/server/routing_service.h"
#include "runtime/admin/admin_service.h"
#include "runtime/fake_control.h"

namespace baton::fuzz {
namespace {

constexpr std::size_t kMaxCalls = 4;
constexpr std::size_t kLongestRefusal = 1024;

template <typename Response>
bool Reads(const std::string& bytes) {
  return Response().ParseFromString(bytes);
}

struct Method {
  const char* path;
  bool (*is_request)(const std::string& bytes);
  bool (*is_answer)(const std::string& bytes);
  bool streams = false;
};

constexpr Method kMethods[] = {
    {"/baton.v1.AdminService/GetStatus", Reads<v1::GetStatusRequest>, Reads<v1::GetStatusResponse>},
    {"/baton.v1.AdminService/ListShards", Reads<v1::ListShardsRequest>,
     Reads<v1::ListShardsResponse>},
    {"/baton.v1.AdminService/DescribeShard", Reads<v1::DescribeShardRequest>,
     Reads<v1::DescribeShardResponse>},
    {"/baton.v1.AdminService/ListEvents", Reads<v1::ListEventsRequest>,
     Reads<v1::ListEventsResponse>},
    {"/baton.v1.AdminService/TransferShard", Reads<v1::TransferShardRequest>,
     Reads<v1::TransferShardResponse>},
    {"/baton.v1.AdminService/DrainNode", Reads<v1::DrainNodeRequest>, Reads<v1::DrainNodeResponse>},
    {"/baton.v1.AdminService/UndrainNode", Reads<v1::UndrainNodeRequest>,
     Reads<v1::UndrainNodeResponse>},
    {"/baton.v1.AdminService/PlanRebalance", Reads<v1::PlanRebalanceRequest>,
     Reads<v1::PlanRebalanceResponse>},
    {"/baton.v1.AdminService/ApplyRebalance", Reads<v1::ApplyRebalanceRequest>,
     Reads<v1::ApplyRebalanceResponse>},
    {"/baton.v1.AdminService/CancelRebalance", Reads<v1::CancelRebalanceRequest>,
     Reads<v1::CancelRebalanceResponse>},
    {"/baton.v1.AdminService/PauseBalance", Reads<v1::PauseBalanceRequest>,
     Reads<v1::PauseBalanceResponse>},
    {"/baton.v1.AdminService/ResumeBalance", Reads<v1::ResumeBalanceRequest>,
     Reads<v1::ResumeBalanceResponse>},
    {"/baton.v1.AdminService/Diagnose", Reads<v1::DiagnoseRequest>, Reads<v1::DiagnoseResponse>},
    {"/baton.v1.RoutingService/Lookup", Reads<v1::LookupRequest>, Reads<v1::LookupResponse>},
    {"/baton.v1.AdminService/WatchEvents", Reads<v1::WatchEventsRequest>,
     Reads<v1::WatchEventsResponse>, true},
    {"/baton.v1.RoutingService/WatchRoutes", Reads<v1::WatchRoutesRequest>,
     Reads<v1::WatchRoutesResponse>, true},
    {"/baton.v1.AdminService/RetryShard", Reads<v1::RetryShardRequest>,
     Reads<v1::RetryShardResponse>},
    {"/baton.v1.AdminService/WhoAmI", Reads<v1::WhoAmIRequest>, Reads<v1::WhoAmIResponse>},
    {"/baton.v1.AdminService/SetGroupSetting", Reads<v1::SetGroupSettingRequest>,
     Reads<v1::SetGroupSettingResponse>},
    {"/baton.v1.AdminService/ChangeGroup", Reads<v1::ChangeGroupRequest>,
     Reads<v1::ChangeGroupResponse>},
    {"/baton.v1.AdminService/ReleaseShard", Reads<v1::ReleaseShardRequest>,
     Reads<v1::ReleaseShardResponse>},
    {"/baton.v1.AdminService/SetNode", Reads<v1::SetNodeRequest>, Reads<v1::SetNodeResponse>},
};

std::size_t MethodsOf(const google::protobuf::ServiceDescriptor* service) {
  return static_cast<std::size_t>(service->method_count());
}

/// Routes that never change.
void Publish(routing::RouteServer& routes) {
  const auto group =
      std::make_shared<runtime::RouteGroup>(runtime::RouteGroup{.group = "orders",
                                                                .server = "n1",
                                                                .shards = 4,
                                                                .hash = HashFunction::kMurmur2,
                                                                .incarnation = 77});
  const auto leader =
      std::make_shared<runtime::RouteNode>(runtime::RouteNode{"n1", "127.0.0.1:7400"});
  runtime::RouteBatch batch{.group = group,
                            .routes = {},
                            .revision = Revision{900},
                            .proven_at = BootClock::now(),
                            .stale_after = std::chrono::hours(24)};
  for (std::uint32_t shard = 0; shard < group->shards; ++shard) {
    batch.routes.push_back({.shard = ShardId{shard},
                            .leader = leader,
                            .term = Term{800 + shard},
                            .state = ShardState::kLed,
                            .revision = Revision{800 + shard}});
  }
  routes.OnRoutes(batch);
}

/// Each input goes to another node instead.
class Current final : public runtime::Control {
 public:
  std::shared_ptr<runtime::FakeControl> node;

  void GetStatus(std::function<void(std::shared_ptr<const runtime::NodeStatus>)> handler) override {
    node->GetStatus(std::move(handler));
  }
  bool Alive() const noexcept override { return true; }
  bool Ready() const noexcept override { return true; }
  baton::Leadership LeadershipOf(ShardId shard) const noexcept override {
    return node->LeadershipOf(shard);
  }
  void Request(runtime::TransferRequest request,
               std::function<void(Result<MoveFact>)> handler) override {
    node->Request(std::move(request), std::move(handler));
  }
  void Request(runtime::PolicyRequest request, std::function<void(Status)> handler) override {
    node->Request(std::move(request), std::move(handler));
  }
  void Request(runtime::RetryRequest request,
               std::function<void(Result<std::uint32_t>)> handler) override {
    node->Request(std::move(request), std::move(handler));
  }
  void Request(runtime::GroupChangeRequest request, std::function<void(Status)> handler) override {
    node->Request(std::move(request), std::move(handler));
  }
  void Request(runtime::ReleaseRequest request, std::function<void(Status)> handler) override {
    node->Request(std::move(request), std::move(handler));
  }
  void Request(runtime::NodeChangeRequest request,
               std::function<void(Result<NodeChanged>)> handler) override {
    node->Request(std::move(request), std::move(handler));
  }
  void PlanRebalance(std::function<void(Result<std::vector<MoveFact>>)> handler) override {
    node->PlanRebalance(std::move(handler));
  }
  std::shared_ptr<const runtime::History> history() const override { return history_; }
  void AddRouteObserver(std::shared_ptr<runtime::RouteObserver>) override {}
  void AddObserver(std::shared_ptr<runtime::Observer>) override {}
  std::map<std::pair<std::string, std::string>, CallStats> EtcdCalls() const override { return {}; }

 private:
  static std::shared_ptr<const runtime::History> Events() {
    auto events = std::make_shared<runtime::History>("orders", "n1", 100);
    for (std::uint32_t shard = 0; shard < 4; ++shard) {
      Transition gained;
      gained.shard = ShardId{shard};
      gained.to = "n1";
      gained.term = Term{800 + shard};
      events->Add(gained, Revision{800 + shard}, {});
    }
    return events;
  }

  const std::shared_ptr<const runtime::History> history_ = Events();
};

/// Both services behind a real server without sockets. Never destroyed, since gRPC's threads go on.
class Services {
 public:
  static Services& Instance() {
    static Services* const services = new Services;
    return *services;
  }

  /// A new group of two nodes and four shards.
  runtime::FakeControl& Begin() {
    current_.node = std::make_shared<runtime::FakeControl>(std::vector<NodeId>{"n1", "n2"}, 4);
    return *current_.node;
  }

  grpc::Status Call(const char* path, std::string_view request, std::string* answer) {
    grpc::ClientContext context;
    const auto call = stub_.PrepareUnaryCall(&context, path, Buffer(request), &done_);
    call->StartCall();
    grpc::ByteBuffer bytes;
    grpc::Status status;
    call->Finish(&bytes, &status, this);
    Must(Done(), "a call is answered");
    if (status.ok()) *answer = Content(bytes);
    return status;
  }

  /// Reads a stream's first message and ends the stream; or returns why there is none.
  grpc::Status First(const char* path, std::string_view request, std::string* answer) {
    grpc::ClientContext context;
    const auto call = stub_.PrepareCall(&context, path, &done_);
    call->StartCall(this);
    Must(Done(), "a stream begins");
    grpc::ByteBuffer bytes;
    call->WriteLast(Buffer(request), {}, this);
    Done();
    call->Read(&bytes, this);
    const bool read = Done();
    if (read) context.TryCancel();
    grpc::Status status;
    call->Finish(&status, this);
    Must(Done(), "a stream ends");
    Must(read || !status.ok(), "a stream has a first message", path);
    if (!read) return status;
    *answer = Content(bytes);
    return grpc::Status::OK;
  }

 private:
  static grpc::ByteBuffer Buffer(std::string_view bytes) {
    const grpc::Slice slice(bytes.data(), bytes.size());
    return {&slice, 1};
  }
  static std::string Content(const grpc::ByteBuffer& bytes) {
    grpc::Slice whole;
    Must(bytes.DumpToSingleSlice(&whole).ok(), "an answer has bytes");
    return {reinterpret_cast<const char*>(whole.begin()), whole.size()};
  }

  /// Waits for the one operation in flight. Returns whether it succeeded.
  bool Done() {
    void* tag = nullptr;
    bool ok = false;
    return done_.Next(&tag, &ok) && ok;
  }

  Services() {
    const auto* admin = v1::GetStatusRequest::descriptor()->file();
    const auto* routing = v1::LookupRequest::descriptor()->file();
    Must(std::size(kMethods) == MethodsOf(admin->service(0)) + MethodsOf(routing->service(0)),
         "each method has a row in kMethods");
    Begin();
    grpc::ServerBuilder builder;
    admin_ =
        runtime::RegisterAdminService(builder, current_, runtime::GateOf({.allow_remote = true}));
    routes_ = routing::RouteServer::Start(current_);
    Publish(*routes_);
    routing_ = routing::RegisterRoutingService(builder, routes_, runtime::GateOf({}));
    server_ = builder.BuildAndStart();
    stub_ = grpc::GenericStub(server_->InProcessChannel({}));
  }

  Current current_;
  std::shared_ptr<routing::RouteServer> routes_;
  std::unique_ptr<AdminService> admin_;
  std::unique_ptr<RoutingService> routing_;
  std::unique_ptr<grpc::Server> server_;
  grpc::GenericStub stub_{nullptr};
  grpc::CompletionQueue done_;
};

void MustBeWritable(const std::string& actor) {
  Must(!actor.empty(), "whoever asks is named");
  v1::MoveRecord record;
  record.set_actor(actor);
  Must(Reads<v1::MoveRecord>(record.SerializeAsString()), "a record names who asked, readably",
       actor);
  MustBeOneLine(actor);
}

}  // namespace

void RunRequests(std::string_view bytes) {
  Input input(bytes);
  Services& services = Services::Instance();
  runtime::FakeControl& node = services.Begin();
  for (std::size_t i = 0; i < kMaxCalls && !input.empty(); ++i) {
    const Method& method = kMethods[input.Choice(std::size(kMethods))];
    const std::string request(input.Part());
    std::string answer;
    const grpc::Status status = method.streams ? services.First(method.path, request, &answer)
                                               : services.Call(method.path, request, &answer);
    if (!method.is_request(request)) {
      Must(!status.ok(), "what is no request is refused");  // by gRPC 1.51 without words
    } else if (status.ok()) {
      Must(method.is_answer(answer), "an answer can be read", method.path);
    } else {
      MustBeOneLine(status.error_message());
      Must(status.error_message().size() <= kLongestRefusal, "a refusal fits into trailers");
    }
  }
  for (const runtime::TransferRequest& transfer : node.Transfers()) {
    Must(IsName(transfer.to), "a shard is moved to a node with a name", transfer.to);
    MustBeWritable(transfer.actor);
  }
  for (const runtime::PolicyRequest& policy : node.Policies()) {
    Must(policy.node.empty() || IsName(policy.node), "a policy's node has a name", policy.node);
    MustBeWritable(policy.actor);
  }
  for (const runtime::RetryRequest& retry : node.Retries()) MustBeWritable(retry.actor);
  for (const runtime::GroupChangeRequest& change : node.GroupChanges()) {
    Must(change.failover || change.delay || change.lock_delay || change.placement,
         "a change of the group has settings or rules");
    Must(!change.placement || CheckPlacement(*change.placement).ok(), "rules are sound");
    MustBeWritable(change.actor);
  }
  for (const runtime::ReleaseRequest& release : node.Releases()) MustBeWritable(release.actor);
  for (const runtime::NodeChangeRequest& change : node.NodeChanges()) {
    Must(IsName(change.node), "a changed node has a name", change.node);
    MustBeWritable(change.actor);
  }
  for (const runtime::MemberStatus& member : node.Now().members) {
    Must(CheckLabels(member.fact.labels).ok() && member.fact.weight <= kMaxWeight,
         "a node has settings that its options could set", member.fact.node);
  }
}

std::vector<Seed> RequestsSeeds() {
  const auto call = [](const char* path, const google::protobuf::Message& request) {
    char number = 0;
    while (std::string_view(kMethods[static_cast<std::size_t>(number)].path) != path) ++number;
    return number + PartBytes(request.SerializeAsString());
  };
  v1::GetStatusRequest status;
  status.set_include_shards(true);
  v1::DescribeShardRequest describe;
  describe.set_shard(3);
  v1::ListEventsRequest events;
  events.set_after(1);
  events.set_limit(10);
  events.set_shard(2);
  v1::TransferShardRequest transfer;
  transfer.set_shard(0);
  transfer.set_to("n2");
  transfer.set_if_term(800);
  transfer.set_actor("ann@host");
  v1::TransferShardRequest cut = transfer;
  cut.set_actor(std::string(127, 'a') + "\xC3\xA9");
  v1::RetryShardRequest retry;
  retry.set_shard(1);
  v1::DrainNodeRequest drain;
  drain.set_node("n2");
  drain.set_actor("ann@host");
  v1::UndrainNodeRequest undrain;
  undrain.set_node("n2");
  v1::SetGroupSettingRequest nodes;
  nodes.set_expected_nodes(3);
  v1::SetGroupSettingRequest moves;
  moves.set_max_moves(8);
  v1::SetGroupSettingRequest limits;
  limits.mutable_limits()->set_max_moves(8);
  limits.mutable_limits()->mutable_rebalance_delay()->mutable_delay()->set_seconds(30);
  limits.mutable_limits()->mutable_cooldown();
  v1::ChangeGroupRequest change;
  change.set_failover(v1::FailoverSettings::POLICY_AFTER);
  change.mutable_failover_delay()->set_seconds(30);
  change.mutable_lock_delay()->set_nanos(1);
  v1::ReleaseShardRequest release;
  release.set_shard(3);
  release.set_confirm("orders/3");
  v1::SetNodeRequest set;
  set.set_node("n1");
  set.set_weight(3);
  (*set.mutable_labels())["disk"] = "ssd";
  set.add_remove_labels("rack");
  v1::LookupRequest by_key;
  by_key.set_group("orders");
  by_key.set_key("customer-1");
  v1::LookupRequest by_shard;
  by_shard.set_shard(3);
  v1::WatchEventsRequest from;
  from.set_after(1);
  from.set_shard(2);
  v1::WatchEventsRequest of_before;
  of_before.mutable_started()->set_seconds(-62'135'596'800);
  v1::WatchRoutesRequest held;
  held.set_after_revision(802);
  held.set_cluster(77);
  v1::WatchRoutesRequest elsewhere;
  elsewhere.set_group("bills");
  v1::WatchRoutesRequest below;
  below.set_after_revision(-1);
  const std::string admin = "/baton.v1.AdminService/";
  const auto asked = [&](const char* verb, const google::protobuf::Message& request) {
    return call((admin + verb).c_str(), request);
  };
  const char* const lookup = "/baton.v1.RoutingService/Lookup";
  const char* const watch = "/baton.v1.RoutingService/WatchRoutes";
  return {{"pictures", asked("GetStatus", status) + asked("ListShards", v1::ListShardsRequest()) +
                           asked("DescribeShard", describe) + asked("ListEvents", events)},
          {"transfer", asked("TransferShard", transfer)},
          {"actor-cut-within-a-character", asked("TransferShard", cut)},
          {"retry", asked("RetryShard", retry)},
          {"setting", asked("SetGroupSetting", nodes) + asked("SetGroupSetting", moves)},
          {"limits", asked("SetGroupSetting", limits)},
          {"node", asked("SetNode", set)},
          {"failover", asked("ChangeGroup", change) + asked("ReleaseShard", release)},
          {"drain-and-undrain",
           asked("DrainNode", drain) + asked("GetStatus", status) + asked("UndrainNode", undrain)},
          {"rebalance", asked("PlanRebalance", v1::PlanRebalanceRequest()) +
                            asked("ApplyRebalance", v1::ApplyRebalanceRequest()) +
                            asked("CancelRebalance", v1::CancelRebalanceRequest())},
          {"pause", asked("PauseBalance", v1::PauseBalanceRequest()) +
                        asked("ResumeBalance", v1::ResumeBalanceRequest()) +
                        asked("Diagnose", v1::DiagnoseRequest())},
          {"lookups", call(lookup, by_key) + call(lookup, by_shard)},
          {"streams", asked("WatchEvents", from) + asked("WatchEvents", of_before) +
                          call(watch, v1::WatchRoutesRequest()) + call(watch, held)},
          {"streams-refused", call(watch, elsewhere) + call(watch, below)}};
}

}  // namespace baton::fuzz
