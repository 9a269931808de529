#include "runtime/admin/admin_service.h"

#include <atomic>
#include <functional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/escape.h"
#include "base/grpc/freed_requests.h"
#include "base/text_rules.h"
#include "baton/v1/admin.grpc.pb.h"
#include "runtime/admin/answers.h"
#include "runtime/admin/approval.h"
#include "runtime/admin/asked_settings.h"
#include "runtime/admin/audit.h"
#include "runtime/admin/diagnosis_proto.h"
#include "runtime/admin/event_stream.h"
#include "runtime/admin/node_change_proto.h"
#include "runtime/admin/proto_time.h"
#include "runtime/admin/status_proto.h"
#include "runtime/admin/unread_answers.h"
#include "runtime/admin/worker.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kLongestClaim = 128;  // bytes

using Context = grpc::CallbackServerContext;
using Reactor = grpc::ServerUnaryReactor;
using Call = UnreadAnswers::Answer;
using access::Role;
using Urgency = Worker::Urgency;
using SharedStatus = std::shared_ptr<const NodeStatus>;

const grpc::Status kTooMuchUnread{grpc::StatusCode::RESOURCE_EXHAUSTED,
                                  "callers have not read the answers that this node has sent: try "
                                  "again in half a minute, or ask another node"};
const grpc::Status kTooManyCalls{grpc::StatusCode::RESOURCE_EXHAUSTED,
                                 "too many status calls at once: try again in a moment"};
const grpc::Status kTooManyStreams{
    grpc::StatusCode::RESOURCE_EXHAUSTED,
    "you follow this node's events too often, or all who have not the role operate do: ask another "
    "node, or try again later"};
const grpc::Status kTooManyDiagnoses{
    grpc::StatusCode::RESOURCE_EXHAUSTED,
    "the node is being examined for others who have not the role operate: try again in a moment"};

/// A change that may be made now.
struct Approved {
  const RequestedChange& change;
  Duration within;  ///< how long it may take, so that its caller still hears the outcome
};

// The request of WatchEvents arrives as bytes, because gRPC keeps it as long as the stream.
// CallbackService has a WatchEvents, too, which gRPC does not call then.
using Methods =
    v1::AdminService::WithRawCallbackMethod_WatchEvents<v1::AdminService::CallbackService>;

class Service final : public Methods, public CountingAdminService {
 public:
  Service(Control& control, access::Gate gate, ExamineRequest examine, Audit::Sinks audit)
      : control_(control),
        examine_(examine),
        gate_(std::move(gate)),
        audit_(std::move(audit), [&control](auto&&... record) { control.Log(record...); }),
        events_(control.history()),
        worker_(kMaxQueuedStatuses) {
    FreeableRequests(
        *this, &Service::SetMessageAllocatorFor_WhoAmI, &Service::SetMessageAllocatorFor_GetStatus,
        &Service::SetMessageAllocatorFor_ListShards, &Service::SetMessageAllocatorFor_DescribeShard,
        &Service::SetMessageAllocatorFor_ListEvents, &Service::SetMessageAllocatorFor_TransferShard,
        &Service::SetMessageAllocatorFor_RetryShard, &Service::SetMessageAllocatorFor_DrainNode,
        &Service::SetMessageAllocatorFor_UndrainNode,
        &Service::SetMessageAllocatorFor_PlanRebalance,
        &Service::SetMessageAllocatorFor_ApplyRebalance,
        &Service::SetMessageAllocatorFor_CancelRebalance,
        &Service::SetMessageAllocatorFor_PauseBalance,
        &Service::SetMessageAllocatorFor_ResumeBalance,
        &Service::SetMessageAllocatorFor_SetGroupSetting,
        &Service::SetMessageAllocatorFor_ChangeGroup, &Service::SetMessageAllocatorFor_SetNode,
        &Service::SetMessageAllocatorFor_ReleaseShard, &Service::SetMessageAllocatorFor_Diagnose);
  }

  Reactor* WhoAmI(Context* context, const v1::WhoAmIRequest*,
                  v1::WhoAmIResponse* response) override {
    const access::Caller caller = CallerOf(gate_, *context);
    Reactor* reactor = context->DefaultReactor();
    if (auto refused = gate_.RefuseRead(caller, "WhoAmI")) {
      reactor->Finish(StatusOf(*std::move(refused)));
      return reactor;
    }
    response->set_caller(access::NameOf(caller));
    response->set_role(access::ToString(gate_.RoleOf(caller)));
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  Reactor* GetStatus(Context* context, const v1::GetStatusRequest* request,
                     v1::GetStatusResponse* response) override {
    if (Reactor* refused = Refuse(context, "GetStatus")) return refused;
    return WithStatus(*context, answers_.Begin(*context, *response),
                      [request, response](const NodeStatus& status) {
                        AnswerStatus(status, *request, response);
                        return grpc::Status::OK;
                      });
  }

  Reactor* ListShards(Context* context, const v1::ListShardsRequest*,
                      v1::ListShardsResponse* response) override {
    if (Reactor* refused = Refuse(context, "ListShards")) return refused;
    return WithStatus(*context, answers_.Begin(*context, *response),
                      [response](const NodeStatus& status) {
                        AnswerShards(status, response);
                        return grpc::Status::OK;
                      });
  }

  Reactor* DescribeShard(Context* context, const v1::DescribeShardRequest* request,
                         v1::DescribeShardResponse* response) override {
    if (Reactor* refused = Refuse(context, "DescribeShard")) return refused;
    return WithStatus(*context, answers_.Begin(*context, *response),
                      [request, response](const NodeStatus& status) {
                        return AnswerShard(status, *request, response);
                      });
  }

  Reactor* ListEvents(Context* context, const v1::ListEventsRequest* request,
                      v1::ListEventsResponse* response) override {
    if (Reactor* refused = Refuse(context, "ListEvents")) return refused;
    Call* reactor = answers_.Begin(*context, *response);
    const Urgency urgency = UrgencyOf(*context);
    const bool queued = worker_.Post(
        [this, reactor, request, response, urgency] {
          if (IsFull(urgency)) return reactor->Finish(kTooMuchUnread);
          reactor->Finish(AnswerEvents(control_.history().get(), *request, response));
        },
        urgency);
    if (!queued) reactor->Finish(kTooManyCalls);
    return reactor;
  }

  EventStreams::Reactor* WatchEvents(Context* context, const grpc::ByteBuffer* request) override {
    const access::Caller caller = CallerOf(gate_, *context);
    if (auto refused = gate_.RefuseRead(caller, "WatchEvents")) {
      return EventStreams::Refuse(StatusOf(*std::move(refused)));
    }
    auto place = event_places_->Take(caller, gate_.RoleOf(caller));
    if (!place) return EventStreams::Refuse(kTooManyStreams);
    return events_.Watch(*context, *request, *std::move(place));
  }

  Reactor* TransferShard(Context* context, const v1::TransferShardRequest* request,
                         v1::TransferShardResponse* response) override {
    Reactor* reactor = context->DefaultReactor();
    auto change = Admit(*context, "TransferShard",
                        fmt::format("shard {} to {}", request->shard(), Printable(request->to())),
                        *request, reactor);
    if (!change || !NamesNode(request->to(), *change, reactor)) return reactor;
    return Carry(*context, reactor, *std::move(change), [=, this](const Approved& approved) {
      TransferRequest transfer;
      transfer.shard = ShardId{request->shard()};
      transfer.to = request->to();
      if (request->has_if_term()) transfer.if_term = Term{request->if_term()};
      transfer.dry_run = request->dry_run();
      transfer.actor = ActorOf(approved.change);
      transfer.within = approved.within;
      control_.Request(std::move(transfer), [this, reactor, response,
                                             asked = approved.change](Result<MoveFact> result) {
        if (result) *response->mutable_move() = ToProto(result.value());
        Finish(reactor, asked, result ? grpc::Status::OK : StatusOf(result.error()));
      });
    });
  }

  Reactor* RetryShard(Context* context, const v1::RetryShardRequest* request,
                      v1::RetryShardResponse* response) override {
    Reactor* reactor = context->DefaultReactor();
    auto change =
        Admit(*context, "RetryShard", fmt::format("shard {}", request->shard()), *request, reactor);
    if (!change) return reactor;
    return Carry(*context, reactor, *std::move(change), [=, this](const Approved& approved) {
      RetryRequest retry;
      retry.shard = ShardId{request->shard()};
      retry.dry_run = request->dry_run();
      retry.actor = ActorOf(approved.change);
      control_.Request(std::move(retry), [this, reactor, response,
                                          asked = approved.change](Result<std::uint32_t> result) {
        if (result) response->set_attempts(result.value());
        Finish(reactor, asked, result ? grpc::Status::OK : StatusOf(result.error()));
      });
    });
  }

  Reactor* DrainNode(Context* context, const v1::DrainNodeRequest* request,
                     v1::DrainNodeResponse*) override {
    return RequestForNode(context, "DrainNode", PolicyRequest::Verb::kDrain, *request);
  }
  Reactor* UndrainNode(Context* context, const v1::UndrainNodeRequest* request,
                       v1::UndrainNodeResponse*) override {
    return RequestForNode(context, "UndrainNode", PolicyRequest::Verb::kUndrain, *request);
  }

  Reactor* PlanRebalance(Context* context, const v1::PlanRebalanceRequest*,
                         v1::PlanRebalanceResponse* response) override {
    if (Reactor* refused = Refuse(context, "PlanRebalance")) return refused;
    Call* reactor = answers_.Begin(*context, *response);
    const Urgency urgency = UrgencyOf(*context);
    control_.PlanRebalance(
        [this, reactor, response, urgency](Result<std::vector<MoveFact>> result) {
          if (!result) return reactor->Finish(StatusOf(result.error()));
          if (IsFull(urgency)) return reactor->Finish(kTooMuchUnread);
          for (const MoveFact& move : result.value()) *response->add_moves() = ToProto(move);
          reactor->Finish(grpc::Status::OK);
        });
    return reactor;
  }

  Reactor* ApplyRebalance(Context* context, const v1::ApplyRebalanceRequest* request,
                          v1::ApplyRebalanceResponse*) override {
    return RequestForGroup(context, "ApplyRebalance", PolicyRequest::Verb::kApplyRebalance,
                           *request);
  }
  Reactor* CancelRebalance(Context* context, const v1::CancelRebalanceRequest* request,
                           v1::CancelRebalanceResponse*) override {
    return RequestForGroup(context, "CancelRebalance", PolicyRequest::Verb::kCancelRebalance,
                           *request);
  }
  Reactor* PauseBalance(Context* context, const v1::PauseBalanceRequest* request,
                        v1::PauseBalanceResponse*) override {
    return RequestForGroup(context, "PauseBalance", PolicyRequest::Verb::kPause, *request);
  }
  Reactor* ResumeBalance(Context* context, const v1::ResumeBalanceRequest* request,
                         v1::ResumeBalanceResponse*) override {
    return RequestForGroup(context, "ResumeBalance", PolicyRequest::Verb::kResume, *request);
  }

  Reactor* SetGroupSetting(Context* context, const v1::SetGroupSettingRequest* request,
                           v1::SetGroupSettingResponse*) override {
    return RequestSettings(context, "SetGroupSetting", *request,
                           [](const auto& message) { return runtime::PolicyOf(message); });
  }
  Reactor* ChangeGroup(Context* context, const v1::ChangeGroupRequest* request,
                       v1::ChangeGroupResponse*) override {
    return RequestSettings(context, "ChangeGroup", *request,
                           [](const auto& message) { return ChangeOf(message); });
  }

  Reactor* SetNode(Context* context, const v1::SetNodeRequest* request,
                   v1::SetNodeResponse* response) override {
    Reactor* reactor = context->DefaultReactor();
    auto change =
        Admit(*context, "SetNode", "node " + Printable(request->node()), *request, reactor);
    if (!change) return reactor;
    change->target += ": " + SettingText(*request);
    if (!NamesNode(request->node(), *change, reactor)) return reactor;
    return Carry(*context, reactor, *std::move(change), [=, this](const Approved& approved) {
      NodeChangeRequest wanted{.node = request->node(),
                               .change = ChangeOf(*request),
                               .dry_run = request->dry_run(),
                               .actor = ActorOf(approved.change)};
      control_.Request(std::move(wanted), [this, reactor, response,
                                           asked = approved.change](Result<NodeChanged> result) {
        if (result) ToProto(result.value(), response);
        Finish(reactor, asked, result ? grpc::Status::OK : StatusOf(result.error()));
      });
    });
  }

  Reactor* ReleaseShard(Context* context, const v1::ReleaseShardRequest* request,
                        v1::ReleaseShardResponse*) override {
    Reactor* reactor = context->DefaultReactor();
    auto change = Admit(*context, "ReleaseShard", fmt::format("shard {}", request->shard()),
                        *request, reactor);
    if (!change) return reactor;
    // The group's name is in the status.
    control_.GetStatus([=, this, change = *std::move(change)](SharedStatus status) {
      const std::string wanted =
          fmt::format("{}/{}", status ? status->group : "", request->shard());
      if (status && !request->dry_run() && request->confirm() != wanted) {
        return Finish(reactor, change,
                      {grpc::StatusCode::INVALID_ARGUMENT,
                       fmt::format("a shard is released only if confirm is \"{}\"", wanted)});
      }
      Order(*context, reactor, change,
            ReleaseRequest{.shard = ShardId{request->shard()}, .dry_run = request->dry_run()});
    });
    return reactor;
  }

  Reactor* Diagnose(Context* context, const v1::DiagnoseRequest*,
                    v1::DiagnoseResponse* response) override {
    if (Reactor* refused = Refuse(context, "Diagnose")) return refused;
    Reactor* reactor = context->DefaultReactor();
    const bool reader = UrgencyOf(*context) == Urgency::kUsual;
    if (reader && ++diagnoses_of_readers_ > kMaxDiagnosesOfReaders) {
      --diagnoses_of_readers_;
      reactor->Finish(kTooManyDiagnoses);
      return reactor;
    }
    control_.Examine(examine_, [this, reader, reactor, response](Result<Diagnosis> result) {
      if (reader) --diagnoses_of_readers_;
      if (result) ToProto(result.value(), response);
      reactor->Finish(result ? grpc::Status::OK : StatusOf(result.error()));
    });
    return reactor;
  }

  std::shared_ptr<const UnreadCounts> unread() const override { return answers_.counts(); }
  std::shared_ptr<const access::StreamPlaces> event_places() const override {
    return event_places_;
  }
  grpc::Service& service() override { return *this; }

 private:
  using Answer = std::function<grpc::Status(const NodeStatus&)>;

  /// Callers who may make changes don't wait for those who only read, however many these are.
  Urgency UrgencyOf(const Context& context) const {
    const Role role = gate_.RoleOf(CallerOf(gate_, context));
    return access::Includes(role, Role::kOperate) ? Urgency::kUrgent : Urgency::kUsual;
  }
  /// Whether the caller is to be refused because answers are not read.
  bool IsFull(Urgency urgency) {
    return answers_.Full(urgency == Urgency::kUrgent ? UnreadAnswers::Caller::kFirst
                                                     : UnreadAnswers::Caller::kUsual);
  }

  /// Gets the newest status, and answers from it on the worker's thread.
  Reactor* WithStatus(const Context& context, Call* reactor, Answer answer) {
    const Urgency urgency = UrgencyOf(context);
    control_.GetStatus([this, reactor, urgency, answer = std::move(answer)](SharedStatus status) {
      if (!status) {
        return reactor->Finish({grpc::StatusCode::UNAVAILABLE, "the node is stopping"});
      }
      const bool queued = worker_.Post(
          [this, reactor, urgency, answer, status = std::move(status)] {
            reactor->Finish(IsFull(urgency) ? kTooMuchUnread : answer(*status));
          },
          urgency);
      if (!queued) reactor->Finish(kTooManyCalls);
    });
    return reactor;
  }

  template <typename Request>
  Reactor* RequestForNode(Context* context, const char* method, PolicyRequest::Verb verb,
                          const Request& request) {
    Reactor* reactor = context->DefaultReactor();
    auto change = Admit(*context, method, "node " + Printable(request.node()), request, reactor);
    if (!change || !NamesNode(request.node(), *change, reactor)) return reactor;
    PolicyRequest policy = PolicyOf(verb, request);
    policy.node = request.node();
    return Order(*context, reactor, *std::move(change), std::move(policy));
  }
  template <typename Request>
  Reactor* RequestForGroup(Context* context, const char* method, PolicyRequest::Verb verb,
                           const Request& request) {
    Reactor* reactor = context->DefaultReactor();
    auto change = Admit(*context, method, "", request, reactor);
    if (!change) return reactor;
    return Order(*context, reactor, *std::move(change), PolicyOf(verb, request));
  }

  /// `read` returns what the message asks for, or why it is wrong. A message may have 64 KiB of
  /// rules, so nobody's is read but those of callers who may make the change.
  template <typename Message, typename Read>
  Reactor* RequestSettings(Context* context, const char* method, const Message& message,
                           Read read) {
    Reactor* reactor = context->DefaultReactor();
    auto change = Admit(*context, method, SettingText(message), message, reactor);
    if (!change) return reactor;
    auto asked = read(message);
    if (!asked) {
      Finish(reactor, *change, StatusOf(asked.error()));
      return reactor;
    }
    asked->dry_run = message.dry_run();
    return Order(*context, reactor, *std::move(change), *std::move(asked));
  }

  template <typename Request>
  static PolicyRequest PolicyOf(PolicyRequest::Verb verb, const Request& request) {
    PolicyRequest policy;
    policy.verb = verb;
    policy.dry_run = request.dry_run();
    return policy;
  }

  /// Of a change whose answer says nothing but whether it was made.
  template <typename AnyRequest>
  Reactor* Order(const Context& context, Reactor* reactor, RequestedChange change,
                 AnyRequest request) {
    return Carry(
        context, reactor, std::move(change),
        [this, reactor, request = std::move(request)](const Approved& approved) {
          AnyRequest now = request;
          now.actor = ActorOf(approved.change);
          now.within = approved.within;
          control_.Request(std::move(now), [this, reactor, asked = approved.change](Status result) {
            Finish(reactor, asked, result ? grpc::Status::OK : StatusOf(result.error()));
          });
        });
  }

  /// Has the change carried out by `make`, once that may be: with --audit-required its entry must
  /// be written before. Until the call is finished gRPC keeps its context, request and response.
  Reactor* Carry(const Context& context, Reactor* reactor, RequestedChange change,
                 std::function<void(const Approved&)> make) {
    const auto asked = std::make_shared<const RequestedChange>(std::move(change));
    const Approval approval(context, gate_);
    audit_.Ask(*asked, [=, this, make = std::move(make)](const Status& written) {
      if (!written) return Finish(reactor, *asked, StatusOf(written.error()));
      if (const auto why = approval.WhyNot(*asked)) return Finish(reactor, *asked, *why);
      make({.change = *asked, .within = approval.TimeLeft()});
    });
    return reactor;
  }

  /// Finishes the call with an error if the caller may not read. Null: it may.
  Reactor* Refuse(Context* context, const char* method) const {
    const auto refusal = RefuseRead(gate_, *context, method);
    if (!refusal) return nullptr;
    Reactor* reactor = context->DefaultReactor();
    reactor->Finish(*refusal);
    return reactor;
  }

  /// Unset: the caller may not do this; the call is finished with an error.
  template <typename Request>
  std::optional<RequestedChange> Admit(const Context& context, const std::string& method,
                                       std::string target, const Request& request,
                                       Reactor* reactor) {
    RequestedChange change{.id = ++changes_,
                           .caller = CallerOf(gate_, context),
                           .verb = method,
                           .target = std::move(target),
                           .claimed = ClaimOf(context, request.actor()),
                           .dry_run = request.dry_run()};
    auto refusal = gate_.Refusal(change.caller, method);
    if (!refusal) return change;
    audit_.Refused(change, refusal->line);
    reactor->Finish(StatusOf(*std::move(refusal)));
    return std::nullopt;
  }

  void Finish(Reactor* reactor, const RequestedChange& change, const grpc::Status& status) const {
    audit_.Answered(change, status);
    reactor->Finish(status);
  }

  static std::string Printable(const std::string& name) { return OneLine(name, kLongestName); }

  /// False: this can't be a node's name; the call is finished with an error. Names become part of
  /// keys.
  bool NamesNode(const std::string& text, const RequestedChange& change, Reactor* reactor) const {
    if (IsName(text)) return true;
    Finish(reactor, change,
           {grpc::StatusCode::INVALID_ARGUMENT,
            fmt::format("'{}' is not a valid node name; expected {}", OneLine(text, kLongestName),
                        kNameRule)});
    return false;
  }

  static std::string ClaimOf(const Context& context, const std::string& named) {
    return named.empty() ? context.peer() : OneLine(named, kLongestClaim);
  }

  Control& control_;
  const ExamineRequest examine_;
  const access::Gate gate_;
  Audit audit_;
  std::atomic<std::uint64_t> changes_{0};
  std::atomic<int> diagnoses_of_readers_{0};
  const std::shared_ptr<access::StreamPlaces> event_places_ =
      std::make_shared<access::StreamPlaces>(kEventPlaces);
  EventStreams events_;
  UnreadAnswers answers_;
  Worker worker_;
};

}  // namespace

std::unique_ptr<CountingAdminService> RegisterAdminService(grpc::ServerBuilder& builder,
                                                           Control& control, access::Gate gate,
                                                           ExamineRequest examine,
                                                           Audit::Sinks audit) {
  auto service =
      std::make_unique<Service>(control, std::move(gate), std::move(examine), std::move(audit));
  builder.RegisterService(service.get());
  return service;
}

}  // namespace baton::runtime
