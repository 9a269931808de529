#include "app/ctl/client.h"

#include <pwd.h>
#include <unistd.h>
#include <chrono>
#include <functional>

#include <fmt/format.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include "access/access.h"
#include "app/ctl/call_wait.h"
#include "app/ctl/channel.h"
#include "app/ctl/client_files.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/status_check.h"
#include "base/escape.h"
#include "base/grpc/server_limits.h"
#include "base/limits.h"
#include "baton/v1/admin.grpc.pb.h"
#include "http/address.h"
#include "runtime/admin/asked_settings.h"
#include "runtime/admin/diagnosis_proto.h"
#include "runtime/admin/history_proto.h"
#include "runtime/admin/node_change_proto.h"
#include "runtime/admin/placement_proto.h"
#include "runtime/admin/proto_time.h"
#include "runtime/admin/status_proto.h"

namespace baton::app {
namespace {

using runtime::FromProto;
using runtime::PolicyRequest;
using Async = v1::AdminService::StubInterface::async_interface;
template <typename Request, typename Response>
using Method = void (Async::*)(grpc::ClientContext*, const Request*, Response*,
                               std::function<void(grpc::Status)>);

// In bytes. 100,000 shards are more than gRPC's 4 MiB, and a million about 100 MiB. 400 members
// with all labels are 2 MiB. The server of a wrong endpoint must not fill the memory.
constexpr int LongestAnswer(AdminClient::Answers answers) {
  return answers == AdminClient::Answers::kShort ? 2 << 20 : 256 << 20;
}
constexpr std::size_t kLongestRequest = ServerLimits{}.message;

// gRPC's own refusal would not say what to do.
Error TooLong(std::size_t bytes) {
  constexpr const char* kAdvice =
      "the request has {} bytes, and a node takes at most {}: give fewer or shorter placement "
      "rules";
  return {ErrorCode::kInvalidArgument, fmt::format(kAdvice, bytes, kLongestRequest)};
}

/// Nobody but its owner and root reaches a unix socket, so there is no TLS on it.
bool IsUnixSocket(const std::string& endpoint) { return endpoint.starts_with("unix:"); }

/// Whose view an answer has, and how old it is.
template <typename Response>
void SetView(const Response& response, runtime::NodeStatus* status) {
  status->group = response.group();
  status->revision = Revision{response.revision()};
  status->node = response.node();
  status->view_age = runtime::NanosecondsOf(response.view_age());
  status->stale = response.stale();
}

}  // namespace

class AdminClient::Impl {
 public:
  Impl(const std::string& endpoint, const ClientTls& tls, Answers answers)
      : endpoint_(endpoint), secure_(tls.on() && !IsUnixSocket(endpoint)) {
    const auto credentials = Credentials(tls);
    if (!credentials) bad_files_ = credentials.error();
    channel_ =
        OpenChannel(endpoint, tls, credentials ? *credentials : grpc::InsecureChannelCredentials(),
                    LongestAnswer(answers));
    stub_ = v1::AdminService::NewStub(channel_);
  }

  void UseToken(const std::string& path) {
    const auto address = http::ParseAddress(endpoint_);
    const bool own_host = IsUnixSocket(endpoint_) || (address && http::IsLoopback(*address));
    Result<std::string> token = ReadToken(path);
    if (!secure_ && !own_host) {
      bad_files_ =
          Error{ErrorCode::kInvalidArgument,
                "a token is sent by TLS (--tls-ca) or to this host alone: everybody on the "
                "way to " +
                    endpoint_ + " could read and use it"};
    } else if (!token) {
      bad_files_ = token.error();
    } else {
      authorization_ = "Bearer " + *token;
    }
  }

  /// Says what a call that got no answer leaves behind.
  enum class Kind { kRead, kChange };

  template <typename Response, typename Request>
  Result<Response> Call(Method<Request, Response> method, const Request& request,
                        TimePoint deadline, Kind kind = Kind::kRead) {
    if (bad_files_) return *bad_files_;
    if (const auto bytes = request.ByteSizeLong(); bytes > kLongestRequest) return TooLong(bytes);
    Response response;
    grpc::Status status = CallOnce(method, request, deadline, &response);
    if (WaitedUntilKnown(status, deadline)) {
      status = CallOnce(method, request, deadline, &response);
    }
    if (status.ok()) return response;
    return kind == Kind::kChange ? ChangeErrorOf(status) : ErrorOf(status);
  }

  /// The answer to GetStatus without shards. Nobody has parsed it.
  Result<grpc::ByteBuffer> StatusBytes(TimePoint deadline) {
    if (bad_files_) return *bad_files_;
    grpc::TemplatedGenericStub<v1::GetStatusRequest, grpc::ByteBuffer> stub(channel_);
    const v1::GetStatusRequest request;
    grpc::ByteBuffer bytes;
    grpc::ClientContext context;
    context.set_deadline(SystemTime(deadline));
    CallCompletion completion;
    stub.UnaryCall(&context, "/baton.v1.AdminService/GetStatus", {}, &request, &bytes,
                   [&completion](grpc::Status status) { completion.Finish(std::move(status)); });
    if (const grpc::Status status = completion.Wait(&context); !status.ok()) return ErrorOf(status);
    return bytes;
  }

  template <typename Response, typename Request, typename Asked>
  Status Change(Method<Request, Response> method, Request message, const Asked& request,
                TimePoint deadline) {
    message.set_dry_run(request.dry_run);
    message.set_actor(request.actor);
    Result<Response> result = Call<Response>(method, message, deadline, Kind::kChange);
    if (!result) return result.error();
    return Ok();
  }

  Status SetGroupSetting(const PolicyRequest& request, TimePoint deadline) {
    v1::SetGroupSettingRequest message;
    if (request.verb == PolicyRequest::Verb::kSetLimits) {
      runtime::SetLimits(request.limits, &message);
    } else {
      message.set_expected_nodes(request.number);
    }
    return Change<v1::SetGroupSettingResponse, v1::SetGroupSettingRequest>(
        &Async::SetGroupSetting, message, request, deadline);
  }

  /// Reads until the stream ends, and returns why it ended.
  Error Watch(const v1::WatchEventsRequest& request, TimePoint deadline,
              const std::function<void(const v1::WatchEventsResponse&)>& message) {
    if (bad_files_) return *bad_files_;
    grpc::Status status = WatchOnce(request, deadline, message);
    if (WaitedUntilKnown(status, deadline)) {
      status = WatchOnce(request, deadline, message);
    }
    // There may be a place among the node's streams soon.
    if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      return {ErrorCode::kUnavailable, status.error_message()};
    }
    return ErrorOf(status);
  }

 private:
  Result<std::shared_ptr<grpc::ChannelCredentials>> Credentials(const ClientTls& tls) const {
    const Result<PemTexts> pems = ReadClientPems(tls);
    if (!pems) return pems.error();
    if (!secure_) return grpc::InsecureChannelCredentials();
    if (tls.servers.empty()) {
      return grpc::SslCredentials(
          {.pem_root_certs = pems->ca, .pem_private_key = pems->key, .pem_cert_chain = pems->cert});
    }
    const auto group = CredentialsFor(tls);
    if (!group) return group.error();
    return (*group)->Get();
  }

  template <typename Response, typename Request>
  grpc::Status CallOnce(Method<Request, Response> method, const Request& request,
                        TimePoint deadline, Response* response) {
    grpc::ClientContext context;
    SayWho(context);
    context.set_deadline(SystemTime(deadline));
    CallCompletion completion;
    (static_cast<Async*>(stub_->async())->*method)(
        &context, &request, response,
        [&completion](grpc::Status status) { completion.Finish(std::move(status)); });
    return completion.Wait(&context);
  }

  grpc::Status WatchOnce(const v1::WatchEventsRequest& request, TimePoint deadline,
                         const std::function<void(const v1::WatchEventsResponse&)>& message) {
    grpc::ClientContext context;
    SayWho(context);
    if (deadline != TimePoint::max()) context.set_deadline(SystemTime(deadline));
    const InterruptGuard guard(context);
    const auto stream = stub_->WatchEvents(&context, request);
    v1::WatchEventsResponse response;
    for (; stream->Read(&response); response = {}) message(response);  // an old one keeps memory
    return stream->Finish();
  }

  void SayWho(grpc::ClientContext& context) const {
    if (authorization_.empty()) return;
    context.AddMetadata(std::string(access::kAuthorization), authorization_);
  }

  Error ErrorOf(const grpc::Status& status) const {
    const std::string& message = status.error_message();
    switch (status.error_code()) {
      case grpc::StatusCode::INVALID_ARGUMENT: return {ErrorCode::kInvalidArgument, message};
      case grpc::StatusCode::NOT_FOUND: return {ErrorCode::kNotFound, message};
      case grpc::StatusCode::FAILED_PRECONDITION: return {ErrorCode::kFailedPrecondition, message};
      case grpc::StatusCode::DEADLINE_EXCEEDED: return TimedOut(message);
      case grpc::StatusCode::UNAVAILABLE: return Unavailable(message);
      case grpc::StatusCode::UNIMPLEMENTED:
        if (message.starts_with("this is a relay")) return {ErrorCode::kUnimplemented, message};
        return {ErrorCode::kUnavailable,
                endpoint_ + " is not a Baton node's gRPC address (is it its HTTP address?)"};
      case grpc::StatusCode::CANCELLED:  // without an interrupt it was the server
        if (Interrupt::Happened()) return {ErrorCode::kInternal, message};
        return {ErrorCode::kUnavailable, endpoint_ + " ended the call: the node may be stopping"};
      default: return {ErrorCode::kInternal, message};
    }
  }

  /// A request that was sent and not answered may have been taken, and carried out.
  Error ChangeErrorOf(const grpc::Status& status) const {
    constexpr const char* kMayBeMade = "; the change may still be made";
    const std::string& message = status.error_message();
    if (status.error_code() == grpc::StatusCode::CANCELLED) {
      return {ErrorCode::kTimedOut, std::string("not answered yet") + kMayBeMade};
    }
    // A connection that takes no new calls leaves the channel idle, while this call is under way.
    const bool idle = channel_->GetState(false) == GRPC_CHANNEL_IDLE;
    if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED && idle) {
      return {ErrorCode::kTimedOut, endpoint_ + " did not answer in time" + kMayBeMade};
    }
    const Error error = ErrorOf(status);
    const bool silent = error.code == ErrorCode::kTimedOut && error.message != message;
    if (silent) return {ErrorCode::kTimedOut, error.message + kMayBeMade};
    const bool left = status.error_code() == grpc::StatusCode::UNAVAILABLE && !Connected() &&
                      message.find(kNeverConnected) == std::string::npos;
    if (!left) return error;
    return {ErrorCode::kTimedOut,
            "the connection to " + endpoint_ + " ended before the answer" + kMayBeMade};
  }

  // gRPC's words for a call that never got a connection.
  static constexpr const char* kNeverConnected = "failed to connect to all addresses";

  bool Connected() const { return channel_->GetState(false) == GRPC_CHANNEL_READY; }

  Error TimedOut(const std::string& message) const {
    if (!Connected()) {
      return {ErrorCode::kUnavailable,
              fmt::format("cannot reach {}: no answer in time", endpoint_)};
    }
    const bool local = message.empty() || message == "Deadline Exceeded";
    return {ErrorCode::kTimedOut, local ? endpoint_ + " did not answer in time" : message};
  }

  Error Unavailable(const std::string& message) const {
    if (Connected()) return {ErrorCode::kUnavailable, message};
    if (secure_) {
      return {
          ErrorCode::kUnavailable,
          fmt::format("cannot reach {}: does a node with TLS run there? Does its certificate have "
                      "this name (--tls-name, --tls-servers), is it signed by --tls-ca, and does "
                      "the node want a certificate of yours, or another one (--tls-cert, "
                      "--tls-key)? gRPC says: {}",
                      endpoint_, OneLine(message, kLongestLine))};
    }
    return {ErrorCode::kUnavailable,
            fmt::format("cannot reach {}: is a node running there, and is this its gRPC address, "
                        "not its HTTP one? (--endpoint, BATON_ENDPOINT) Does the node use TLS? "
                        "(--tls-ca)",
                        endpoint_)};
  }

  const std::string endpoint_;
  const bool secure_;
  std::optional<Error> bad_files_;  // no call is made
  std::string authorization_;       // empty: there is no token
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::AdminService::Stub> stub_;
};

AdminClient::AdminClient(const std::string& endpoint, const ClientTls& tls, Answers answers)
    : impl_(std::make_unique<Impl>(endpoint, tls, answers)) {}
AdminClient::AdminClient(const CtlOptions& options)
    : impl_(std::make_unique<Impl>(options.endpoint, options.tls, Answers::kAll)) {
  if (!options.token_file.empty()) impl_->UseToken(options.token_file);
}
AdminClient::~AdminClient() = default;

Result<AdminClient::Identity> AdminClient::WhoAmI(TimePoint deadline) {
  auto response = impl_->Call<v1::WhoAmIResponse, v1::WhoAmIRequest>(&Async::WhoAmI,
                                                                     v1::WhoAmIRequest{}, deadline);
  if (!response) return response.error();
  return Identity{.caller = response.value().caller(), .role = response.value().role()};
}

Result<StatusAnswer> AdminClient::GetStatus(bool with_shards, TimePoint deadline) {
  v1::GetStatusRequest request;
  request.set_include_shards(with_shards);
  auto response = impl_->Call<v1::GetStatusResponse, v1::GetStatusRequest>(&Async::GetStatus,
                                                                           request, deadline);
  if (!response) return response.error();
  if (Status sound = CheckStatus(response.value()); !sound) return sound.error();
  StatusAnswer answer{FromProto(response.value().status()), {}};
  for (const auto& move : response.value().moves()) answer.moves.push_back(FromProto(move));
  return answer;
}

Result<runtime::NodeStatus> AdminClient::GetOwnWords(TimePoint deadline) {
  auto bytes = impl_->StatusBytes(deadline);
  if (!bytes) return bytes.error();
  return OwnWordsIn(bytes.value(), deadline);
}

Result<runtime::NodeStatus> AdminClient::ListShards(TimePoint deadline) {
  auto response = impl_->Call<v1::ListShardsResponse, v1::ListShardsRequest>(
      &Async::ListShards, v1::ListShardsRequest{}, deadline);
  if (!response) return response.error();
  if (Status sound = CheckShards(response.value()); !sound) return sound.error();
  runtime::NodeStatus status;
  SetView(response.value(), &status);
  for (const auto& shard : response.value().shards()) status.shards.push_back(FromProto(shard));
  return status;
}

Result<runtime::NodeStatus> AdminClient::DescribeShard(ShardId shard, TimePoint deadline) {
  v1::DescribeShardRequest request;
  request.set_shard(shard.value);
  auto response = impl_->Call<v1::DescribeShardResponse, v1::DescribeShardRequest>(
      &Async::DescribeShard, request, deadline);
  if (!response) return response.error();
  runtime::NodeStatus status;
  SetView(response.value(), &status);
  status.shards.push_back(FromProto(response.value().shard()));
  for (const auto& recent : response.value().recent()) status.recent.push_back(FromProto(recent));
  return status;
}

Result<runtime::HistoryPage> AdminClient::ListEvents(const runtime::HistoryQuestion& question,
                                                     TimePoint deadline) {
  v1::ListEventsRequest request;
  request.set_after(question.after);
  request.set_limit(runtime::kMaxEvents);
  if (question.shard) request.set_shard(question.shard->value);
  std::optional<runtime::HistoryPage> all;
  for (bool more = true; more;) {
    auto response = impl_->Call<v1::ListEventsResponse, v1::ListEventsRequest>(&Async::ListEvents,
                                                                               request, deadline);
    if (!response) return response.error();
    runtime::HistoryPage page = FromProto(response.value());
    more = page.events.size() == runtime::kMaxEvents;
    if (more) request.set_after(page.upto);
    if (!all) {
      all = std::move(page);
      continue;
    }
    all->last = page.last;
    all->upto = page.upto;
    all->events.insert(all->events.end(), page.events.begin(), page.events.end());
    // A node keeps kMaxHistory at most, and a few more happen meanwhile.
    more = more && all->events.size() < 2 * std::size_t{kMaxHistory};
  }
  return *std::move(all);
}

Error AdminClient::WatchEvents(
    const Watch& watch, TimePoint deadline,
    const std::function<void(const runtime::HistoryPage&, bool reset)>& page) {
  v1::WatchEventsRequest request;
  if (watch.after) request.set_after(*watch.after);
  if (watch.started) *request.mutable_started() = runtime::TimestampOf(*watch.started);
  if (watch.shard) request.set_shard(watch.shard->value);
  return impl_->Watch(request, deadline, [&page](const v1::WatchEventsResponse& response) {
    page(FromProto(response), response.reset());
  });
}

Result<MoveFact> AdminClient::Transfer(const runtime::TransferRequest& transfer,
                                       TimePoint deadline) {
  v1::TransferShardRequest request;
  request.set_shard(transfer.shard.value);
  request.set_to(transfer.to);
  if (transfer.if_term) request.set_if_term(transfer.if_term->value);
  request.set_dry_run(transfer.dry_run);
  request.set_actor(transfer.actor);
  auto response = impl_->Call<v1::TransferShardResponse, v1::TransferShardRequest>(
      &Async::TransferShard, request, deadline, Impl::Kind::kChange);
  if (!response) return response.error();
  return FromProto(response.value().move());
}

Result<std::uint32_t> AdminClient::Retry(const runtime::RetryRequest& retry, TimePoint deadline) {
  v1::RetryShardRequest request;
  request.set_shard(retry.shard.value);
  request.set_dry_run(retry.dry_run);
  request.set_actor(retry.actor);
  auto response = impl_->Call<v1::RetryShardResponse, v1::RetryShardRequest>(
      &Async::RetryShard, request, deadline, Impl::Kind::kChange);
  if (!response) return response.error();
  return response.value().attempts();
}

Result<std::vector<MoveFact>> AdminClient::PlanRebalance(TimePoint deadline) {
  auto response = impl_->Call<v1::PlanRebalanceResponse, v1::PlanRebalanceRequest>(
      &Async::PlanRebalance, v1::PlanRebalanceRequest{}, deadline);
  if (!response) return response.error();
  std::vector<MoveFact> moves;
  for (const auto& move : response.value().moves()) moves.push_back(FromProto(move));
  return moves;
}

Result<runtime::Diagnosis> AdminClient::Diagnose(TimePoint deadline) {
  auto response = impl_->Call<v1::DiagnoseResponse, v1::DiagnoseRequest>(
      &Async::Diagnose, v1::DiagnoseRequest{}, deadline);
  if (!response) return response.error();
  return FromProto(response.value());
}

Status AdminClient::Request(const PolicyRequest& request, TimePoint deadline) {
  v1::DrainNodeRequest drain;
  drain.set_node(request.node);
  v1::UndrainNodeRequest undrain;
  undrain.set_node(request.node);
  switch (request.verb) {
    case PolicyRequest::Verb::kDrain:
      return impl_->Change<v1::DrainNodeResponse, v1::DrainNodeRequest>(&Async::DrainNode, drain,
                                                                        request, deadline);
    case PolicyRequest::Verb::kUndrain:
      return impl_->Change<v1::UndrainNodeResponse, v1::UndrainNodeRequest>(
          &Async::UndrainNode, undrain, request, deadline);
    case PolicyRequest::Verb::kPause:
      return impl_->Change<v1::PauseBalanceResponse, v1::PauseBalanceRequest>(
          &Async::PauseBalance, v1::PauseBalanceRequest{}, request, deadline);
    case PolicyRequest::Verb::kResume:
      return impl_->Change<v1::ResumeBalanceResponse, v1::ResumeBalanceRequest>(
          &Async::ResumeBalance, v1::ResumeBalanceRequest{}, request, deadline);
    case PolicyRequest::Verb::kApplyRebalance:
      return impl_->Change<v1::ApplyRebalanceResponse, v1::ApplyRebalanceRequest>(
          &Async::ApplyRebalance, v1::ApplyRebalanceRequest{}, request, deadline);
    case PolicyRequest::Verb::kCancelRebalance:
      return impl_->Change<v1::CancelRebalanceResponse, v1::CancelRebalanceRequest>(
          &Async::CancelRebalance, v1::CancelRebalanceRequest{}, request, deadline);
    case PolicyRequest::Verb::kSetExpectedNodes:
    case PolicyRequest::Verb::kSetLimits: return impl_->SetGroupSetting(request, deadline);
  }
  return Error{ErrorCode::kInternal, "unknown policy"};
}

Status AdminClient::Request(const runtime::GroupChangeRequest& request, TimePoint deadline) {
  v1::ChangeGroupRequest message;
  if (request.failover) message.set_failover(runtime::FailoverPolicyOf(*request.failover));
  if (request.delay) *message.mutable_failover_delay() = runtime::DurationOf(*request.delay);
  if (request.lock_delay) *message.mutable_lock_delay() = runtime::DurationOf(*request.lock_delay);
  if (request.placement) runtime::ToProto(*request.placement, message.mutable_placement());
  return impl_->Change<v1::ChangeGroupResponse, v1::ChangeGroupRequest>(&Async::ChangeGroup,
                                                                        message, request, deadline);
}

Result<NodeChanged> AdminClient::SetNode(const runtime::NodeChangeRequest& request,
                                         TimePoint deadline) {
  v1::SetNodeRequest message;
  runtime::ToProto(request.change, &message);
  message.set_node(request.node);
  message.set_dry_run(request.dry_run);
  message.set_actor(request.actor);
  auto response = impl_->Call<v1::SetNodeResponse, v1::SetNodeRequest>(
      &Async::SetNode, message, deadline, Impl::Kind::kChange);
  if (!response) return response.error();
  return FromProto(response.value());
}

Status AdminClient::Release(const runtime::ReleaseRequest& request, const std::string& confirm,
                            TimePoint deadline) {
  v1::ReleaseShardRequest message;
  message.set_shard(request.shard.value);
  message.set_confirm(confirm);
  return impl_->Change<v1::ReleaseShardResponse, v1::ReleaseShardRequest>(
      &Async::ReleaseShard, message, request, deadline);
}

std::string ActorName() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const passwd* user = getpwuid(getuid());
  return (user != nullptr ? user->pw_name : std::to_string(getuid())) + "@" + host;
}

}  // namespace baton::app
