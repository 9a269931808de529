#include "etcd/grpc/unary.h"

#include <algorithm>

#include "base/text_rules.h"

namespace baton::etcd {
namespace {

// With less time left than this, another attempt is not worth its load.
constexpr Duration kLeastAttempt = std::chrono::milliseconds(5);
// A read waits at least this long at one endpoint before it goes on to the next.
constexpr Duration kLeastReadBound = std::chrono::milliseconds(200);
// A missed deadline shorter than this says nothing about the endpoint.
constexpr Duration kTellingMiss = std::chrono::milliseconds(100);
constexpr int kTokenRenewals = 2;

// gRPC servers in other languages refuse metadata longer than this.
constexpr std::size_t kLongestToken = 8'000;

// gRPC ends the process if metadata contains line ends or characters that are not ASCII.
bool CanBeCarried(const std::string& token) {
  return !token.empty() && token.size() <= kLongestToken && IsVisibleAscii(token);
}

grpc::Status NoToken() {
  return {grpc::StatusCode::UNAVAILABLE,
          "a login was answered without a usable token (visible ASCII, at most 8,000 bytes): "
          "check that the endpoint is an etcd"};
}

CallStatus Cancelled() {
  return {.outcome = Outcome::kUnknown,
          .code = grpc::StatusCode::CANCELLED,
          .message = "the transport is closing"};
}

CallStatus TimedOut(const std::string& doing) {
  return {.outcome = Outcome::kUnknown,
          .code = grpc::StatusCode::DEADLINE_EXCEEDED,
          .message = "no time left for " + doing};
}

}  // namespace

UnaryPlan RangeMethod::Plan() { return {.method = "Range"}; }
UnaryPlan TxnMethod::Plan() { return {.method = "Txn", .retry = Retry::kWrites}; }
UnaryPlan LeaseGrantMethod::Plan() { return {.method = "LeaseGrant", .retry = Retry::kWrites}; }
UnaryPlan LeaseRevokeMethod::Plan() { return {.method = "LeaseRevoke", .retry = Retry::kWrites}; }
UnaryPlan LeaseTimeToLiveMethod::Plan() { return {.method = "LeaseTimeToLive"}; }
UnaryPlan AuthenticateMethod::Plan() { return {.method = "Authenticate", .needs_token = false}; }
UnaryPlan StatusMethod::Plan() { return {.method = "Status", .answer_proves_endpoint = false}; }

grpc::Status NotAnAnswer() {
  return {grpc::StatusCode::UNKNOWN,
          "this is no answer of etcd: check what serves the endpoint, and proxies before it"};
}

grpc::Status CheckAnswer(const etcdserverpb::AuthenticateResponse& response) {
  return CanBeCarried(response.token()) ? grpc::Status::OK : NoToken();
}

UnaryCall::UnaryCall(GrpcCore& core, const UnaryPlan& plan)
    : core_(core), plan_(plan), tried_(core.endpoint_count(), false) {}

void UnaryCall::Start() {
  if (!core_.Register(shared_from_this())) return Deliver(Cancelled());
  wake_.Set(core_.queue(), beginning_);
}

void UnaryCall::Begin() {
  const auto self = shared_from_this();
  if (!plan_.only_endpoint) core_.StartDueProbes();
  FetchToken();
}

std::size_t UnaryCall::FirstEndpoint() {
  if (plan_.only_endpoint) return *plan_.only_endpoint;
  const std::size_t current = core_.CurrentEndpoint();
  const std::string& address = core_.address(current);
  const bool other = plan_.elsewhere || address == plan_.avoid;
  return other ? core_.EndpointOtherThan(address) : current;
}

void UnaryCall::FetchToken() {
  const auto attempt = [this] { Attempt(FirstEndpoint()); };
  if (!plan_.needs_token) return attempt();
  if (auto token = core_.tokens().Current()) {
    token_ = std::move(*token);
    return attempt();
  }
  core_.tokens().Get(plan_.deadline, [self = shared_from_this(), attempt](const CallStatus& status,
                                                                          const Token& token) {
    if (!status.ok()) return self->Finish(status);
    self->token_ = token;
    attempt();
  });
}

Duration UnaryCall::AttemptBound(std::size_t endpoint, TimePoint now) {
  const Duration left = std::max<Duration>(plan_.deadline - now, std::chrono::milliseconds(1));
  tried_[endpoint] = true;
  const bool others = std::find(tried_.begin(), tried_.end(), false) != tried_.end();
  if (plan_.only_endpoint || core_.endpoint_count() == 1) return left;
  const Duration bound = std::min<Duration>(left, core_.options().unary_bound);
  if (plan_.retry != Retry::kReads || !others) return bound;
  return std::min(bound, std::max(left / 2, kLeastReadBound));
}

void UnaryCall::Attempt(std::size_t endpoint) {
  const TimePoint now = BootClock::now();
  // Always makes the first attempt, so that no answer comes from inside Start.
  if (attempts_++ > 0 && plan_.deadline - now < kLeastAttempt) {
    return Finish(TimedOut(plan_.method));
  }
  endpoint_ = endpoint;
  sent_ = now;
  bound_ = AttemptBound(endpoint, now);
  stubs_ = plan_.through != nullptr ? plan_.through : core_.stubs(endpoint);
  {
    // Completed waits for this lock: gRPC may complete the attempt before Launch returns.
    const std::lock_guard lock(mutex_);
    if (!core_.closing()) {
      context_ = std::make_unique<grpc::ClientContext>();
      context_->set_deadline(GrpcDeadline(bound_));
      AddToken(*context_, token_);
      return Launch(*stubs_, *context_, core_.queue(), status_, *this);
    }
  }
  Finish(Cancelled());
}

void UnaryCall::Cancel() {
  const std::lock_guard lock(mutex_);
  if (context_) context_->TryCancel();
}

void UnaryCall::Completed(bool ok) {
  const auto self = shared_from_this();
  { const std::lock_guard launched(mutex_); }
  Attempted(Conclude(status_, ok));
}

void UnaryCall::Attempted(const grpc::Status& status) {
  if (core_.options().on_call) {
    const CallbackScope scope;
    core_.options().on_call(plan_.method, status.error_code(), BootClock::now() - sent_);
  }
  Verdict verdict = VerdictOf(status);
  Report(verdict);
  // Without a user there is no way to get a token.
  if (verdict == Verdict::kTokenRejected && core_.options().user.empty()) {
    verdict = Verdict::kDenied;
  }
  if (core_.closing() && verdict != Verdict::kDone) return Finish(Cancelled());
  if (TriesAnotherToken(verdict) || TriesAnotherEndpoint(verdict)) return;
  Finish(ToCallStatus(status, verdict, core_.address(endpoint_)));
}

void UnaryCall::Report(Verdict verdict) {
  if (plan_.through != nullptr) return;
  switch (verdict) {
    case Verdict::kDone:
    case Verdict::kRefused:
    case Verdict::kTokenRejected:
    case Verdict::kDenied:
      if (plan_.answer_proves_endpoint) core_.ReportAnswered(endpoint_);
      return;
    case Verdict::kUnavailable:
    case Verdict::kNeverServed: return core_.ReportUnavailable(endpoint_, Use::kUnary);
    case Verdict::kMissed:
      if (bound_ >= kTellingMiss) core_.ReportMissed(endpoint_, sent_);
      return;
    case Verdict::kUnknown: return;
  }
}

bool UnaryCall::TriesAnotherToken(Verdict verdict) {
  if (!plan_.needs_token || token_renewals_ == kTokenRenewals) return false;
  if (verdict == Verdict::kTokenRejected) {
    core_.tokens().GiveUp(token_.generation);
  } else if (verdict != Verdict::kDenied || !core_.tokens().GiveUpUnlessFresh(token_.generation)) {
    return false;
  }
  ++token_renewals_;
  FetchToken();
  return true;
}

bool UnaryCall::TriesAnotherEndpoint(Verdict verdict) {
  const bool lost = verdict == Verdict::kUnavailable || verdict == Verdict::kMissed;
  const bool allowed = (verdict == Verdict::kNeverServed && plan_.retry != Retry::kNever) ||
                       (lost && plan_.retry == Retry::kReads);
  if (!allowed || plan_.deadline - BootClock::now() < kLeastAttempt) return false;
  const auto next = core_.NextEndpoint(tried_);
  if (!next) return false;
  Attempt(*next);
  return true;
}

void UnaryCall::Finish(CallStatus status) {
  const CallbackScope scope;
  Deliver(std::move(status));
  {
    const std::lock_guard lock(mutex_);
    context_.reset();
  }
  stubs_.reset();
  plan_.through.reset();
  const auto self = core_.Unregister(this);
}

}  // namespace baton::etcd
