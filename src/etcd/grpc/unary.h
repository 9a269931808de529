// UnaryCall: one unary call with attempts, failover, tokens, and one answer. Only for this folder.
// Any thread may start a call. Its attempts follow one another on the thread of GrpcCore::queue().
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "etcd/grpc/core.h"
#include "etcd/grpc/outcome.h"

namespace baton::etcd {

/// When a call goes on to another endpoint, as long as the deadline allows. With each value, a call
/// whose token etcd does not accept is sent again with another token, at most twice.
enum class Retry {
  kReads,   ///< if the endpoint can't serve the call, or does not answer in time
  kWrites,  ///< only if the call certainly never reached a store
  kNever,   ///< never
};

struct UnaryPlan {
  const char* method;
  Retry retry = Retry::kReads;
  bool needs_token = true;
  /// Whether an answer shows that the endpoint reaches a raft leader. The answer with a member's
  /// own status does not.
  bool answer_proves_endpoint = true;
  TimePoint deadline{};  ///< of the whole call; if it has passed, the first attempt gets 1 ms
  std::optional<std::size_t> only_endpoint = std::nullopt;  ///< unset: any endpoint
  /// True: the call begins at another endpoint than the current one, if there is one.
  bool elsewhere = false;
  /// The call begins at another endpoint than the one with this address, if there is one.
  std::string avoid = {};
  /// The connections to use; null: the endpoint's own. If set, the call reports nothing about the
  /// endpoint, and `needs_token` must be false (not checked).
  std::shared_ptr<EndpointStubs> through = nullptr;
};

/// The part of UnaryPlan that says which endpoint a call uses. `only_endpoint` makes `retry`
/// kNever. `through` makes `needs_token` false.
struct UnaryTarget {
  std::optional<std::size_t> only_endpoint = std::nullopt;
  std::shared_ptr<EndpointStubs> through = nullptr;
  bool elsewhere = false;
  std::string avoid = {};
};

template <typename Response>
using Reader = std::unique_ptr<grpc::ClientAsyncResponseReader<Response>>;

class UnaryCall : public Operation, public std::enable_shared_from_this<UnaryCall>, public Step {
 public:
  UnaryCall(GrpcCore& core, const UnaryPlan& plan);
  /// Begins the first attempt soon. If the transport is closing, Start itself delivers the answer.
  void Start();
  void Cancel() override;

 protected:
  /// Sends the request through one endpoint. When the attempt is over, `status` is set and `over`
  /// completes; ok = false says that the answer could not be decoded. One attempt at a time.
  virtual void Launch(EndpointStubs& stubs, grpc::ClientContext& context,
                      grpc::CompletionQueue& queue, grpc::Status& status, Step& over) = 0;
  /// Returns the attempt's status: an error if the answer can't be used. Drops the objects that
  /// gRPC needed for the attempt.
  virtual grpc::Status Conclude(const grpc::Status& status, bool decoded) = 0;
  /// Passes the answer to the caller. Called once.
  virtual void Deliver(CallStatus status) = 0;

 private:
  /// Begins the first attempt.
  class Beginning final : public Step {
   public:
    explicit Beginning(UnaryCall& call) : call_(call) {}
    void Completed(bool /*ok*/) override { call_.Begin(); }

   private:
    UnaryCall& call_;
  };

  void Begin();
  void FetchToken();
  std::size_t FirstEndpoint();
  void Attempt(std::size_t endpoint);
  Duration AttemptBound(std::size_t endpoint, TimePoint now);
  void Completed(bool ok) override;
  void Attempted(const grpc::Status& status);
  void Report(Verdict verdict);
  bool TriesAnotherToken(Verdict verdict);
  bool TriesAnotherEndpoint(Verdict verdict);
  void Finish(CallStatus status);

  GrpcCore& core_;
  UnaryPlan plan_;
  Beginning beginning_{*this};
  Wake wake_;
  // Of the present attempt; attempts follow one another.
  Token token_;
  int attempts_ = 0;
  int token_renewals_ = 0;
  std::vector<bool> tried_;
  std::size_t endpoint_ = 0;
  std::shared_ptr<EndpointStubs> stubs_;  // dropped together with the context, see Operation
  TimePoint sent_{};
  Duration bound_{};
  grpc::Status status_;  // set by gRPC

  std::mutex mutex_;
  std::unique_ptr<grpc::ClientContext> context_;  // mutex_; gRPC uses its content
};

/// The status (UNKNOWN) of an attempt whose answer can't be decoded or has no header. All answers
/// of etcd have a header, so another server gave this answer. A write may be applied or not.
grpc::Status NotAnAnswer();
/// Returns an error if the response can't be used. For most methods, every response can be used.
inline grpc::Status CheckAnswer(const google::protobuf::Message&) { return {}; }
/// Returns UNAVAILABLE if calls can't carry the token. Then the call goes on to another endpoint.
grpc::Status CheckAnswer(const etcdserverpb::AuthenticateResponse& response);

/// A call of one of etcd's methods. `Method` has `Request`, `Response`, `Plan()` and `Launch(...)`.
template <typename Method>
class UnaryCallOf final : public UnaryCall {
 public:
  using Request = typename Method::Request;
  using Response = typename Method::Response;

  UnaryCallOf(GrpcCore& core, const UnaryPlan& plan, std::shared_ptr<const Request> request,
              ReplyHandler<Response> handler)
      : UnaryCall(core, plan), request_(std::move(request)), handler_(std::move(handler)) {}

 protected:
  void Launch(EndpointStubs& stubs, grpc::ClientContext& context, grpc::CompletionQueue& queue,
              grpc::Status& status, Step& over) override {
    response_.Clear();
    reader_ = Method::Launch(stubs, context, *request_, queue);
    reader_->Finish(&response_, &status, over.tag());
  }
  grpc::Status Conclude(const grpc::Status& status, bool decoded) override {
    reader_.reset();
    if (!status.ok()) return status;
    return decoded && response_.has_header() ? CheckAnswer(response_) : NotAnAnswer();
  }
  void Deliver(CallStatus status) override {
    Reply<Response> reply{.status = std::move(status), .response = {}};
    if (reply.status.ok()) reply.response = std::move(response_);
    const ReplyHandler<Response> handler = std::exchange(handler_, nullptr);
    handler(std::move(reply));
  }

 private:
  const std::shared_ptr<const Request> request_;
  Response response_;
  Reader<Response> reader_;  // of the present attempt
  ReplyHandler<Response> handler_;
};

#define BATON_ETCD_METHOD(Name, Stub)                                                      \
  struct Name##Method {                                                                    \
    using Request = etcdserverpb::Name##Request;                                           \
    using Response = etcdserverpb::Name##Response;                                         \
    static UnaryPlan Plan();                                                               \
    static Reader<Response> Launch(EndpointStubs& stubs, grpc::ClientContext& context,     \
                                   const Request& request, grpc::CompletionQueue& queue) { \
      return stubs.Stub->Async##Name(&context, request, &queue);                           \
    }                                                                                      \
  }
BATON_ETCD_METHOD(Range, kv);
BATON_ETCD_METHOD(Txn, kv);
BATON_ETCD_METHOD(LeaseGrant, lease);
BATON_ETCD_METHOD(LeaseRevoke, lease);
BATON_ETCD_METHOD(LeaseTimeToLive, lease);
BATON_ETCD_METHOD(Status, maintenance);
BATON_ETCD_METHOD(Authenticate, auth);
#undef BATON_ETCD_METHOD

template <typename Request>
std::shared_ptr<const Request> Share(Request request) {
  return std::make_shared<const Request>(std::move(request));
}

/// Starts a call of `Method`. `handler` gets one answer, soon after `deadline` at the latest, on
/// the thread of GrpcCore::queue(). If the transport is closing already, StartUnary itself calls
/// `handler`.
template <typename Method>
void StartUnary(GrpcCore& core, std::shared_ptr<const typename Method::Request> request,
                TimePoint deadline, ReplyHandler<typename Method::Response> handler,
                UnaryTarget target = {}) {
  UnaryPlan plan = Method::Plan();
  plan.deadline = deadline;
  plan.only_endpoint = target.only_endpoint;
  if (plan.only_endpoint) plan.retry = Retry::kNever;
  plan.elsewhere = target.elsewhere;
  plan.avoid = std::move(target.avoid);
  plan.through = std::move(target.through);
  if (plan.through) plan.needs_token = false;
  std::make_shared<UnaryCallOf<Method>>(core, plan, std::move(request), std::move(handler))
      ->Start();
}

}  // namespace baton::etcd
