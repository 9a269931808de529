// StreamCall: a bidirectional stream with one owner, for keepalives and watches. Only for this
// folder.
//
// The owner's handle calls Send and Detach, from any thread. gRPC calls the reactions (On...), one
// after another. GrpcCore keeps the object alive until the stream has ended.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "etcd/grpc/core.h"
#include "etcd/grpc/outcome.h"

namespace baton::etcd {

/// `Handler` has `ended(CallStatus)` and the callbacks of its kind of stream.
template <typename Request, typename Response, typename Handler>
class StreamCall : public grpc::ClientBidiReactor<Request, Response>,
                   public Operation,
                   public std::enable_shared_from_this<StreamCall<Request, Response, Handler>> {
 public:
  StreamCall(GrpcCore& core, std::size_t endpoint, Handler handler)
      : core_(core),
        address_(core.address(endpoint)),
        handler_(std::move(handler)),
        endpoint_(endpoint) {}

  const std::string& address() const { return address_; }

  /// Opens the stream. If a token is needed, gets it first. Does nothing if the transport closes.
  void Open() {
    if (!core_.Register(this->shared_from_this())) return;
    core_.StartDueProbes();
    if (auto token = core_.tokens().Current()) return Begin(*token);
    const TimePoint deadline = BootClock::now() + core_.options().unary_bound;
    core_.tokens().Get(
        deadline, [self = this->shared_from_this()](const CallStatus& status, const Token& token) {
          if (!status.ok()) return self->End(status);
          self->Begin(token);
        });
  }

  /// Queues a request, at most kQueueBound of them. Does nothing if the stream is over or the queue
  /// is full.
  void Send(Request request) {
    {
      const std::lock_guard lock(mutex_);
      if (over_ || queue_.size() >= kQueueBound) return;
      queue_.push_back(std::move(request));
    }
    Flush();
  }

  /// The owner is destroyed: no callback starts from now on. Waits for a callback that runs on
  /// another thread. Then cancels the stream.
  void Detach() {
    Handler released;
    {
      std::unique_lock lock(mutex_);
      detached_ = true;
      const bool inside = calling_ && caller_ == std::this_thread::get_id();
      if (!inside) {
        returned_.wait(lock, [this] { return !calling_; });
        released = std::exchange(handler_, Handler{});
      }
    }
    Cancel();
  }

  void Cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (context_) context_->TryCancel();
  }

  void OnReadDone(bool ok) final {
    if (!ok) {
      {
        const std::lock_guard lock(mutex_);
        over_ = true;
      }
      this->RemoveHold();
      return;
    }
    OrderReactions();
    Received(response_);
    OrderReactions();
    this->StartRead(&response_);
  }

  void OnWriteDone(bool ok) final {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
    }
    if (ok) Flush();
  }

  void OnDone(const grpc::Status& status) final {
    OrderReactions();
    End(FinalStatus(status));
  }

 protected:
  /// Binds this reactor to the method and the context.
  virtual void Bind(EndpointStubs& stubs, grpc::ClientContext& context) = 0;
  /// Handles one response. Responses come in order; the next one reuses this one's memory.
  virtual void Received(Response& response) = 0;
  /// The status that the stream ended with.
  virtual CallStatus FinalStatus(const grpc::Status& status) { return Judge(status); }

  GrpcCore& core() { return core_; }
  bool over() {
    const std::lock_guard lock(mutex_);
    return over_;
  }

  /// Runs `call(handler)` unless Detach has begun.
  template <typename Call>
  void Tell(const Call& call) {
    {
      const std::lock_guard lock(mutex_);
      if (detached_) return;
      calling_ = true;
      caller_ = std::this_thread::get_id();
    }
    {
      const CallbackScope scope;
      call(handler_);
    }
    Handler released;
    const std::lock_guard lock(mutex_);
    calling_ = false;
    if (detached_) released = std::exchange(handler_, Handler{});
    returned_.notify_all();
  }

  CallStatus Judge(const grpc::Status& status) {
    if (status.ok()) {
      return {
          .outcome = Outcome::kUnknown, .code = 0, .message = address_ + ": etcd ended the stream"};
    }
    Verdict verdict = VerdictOf(status);
    if (verdict == Verdict::kUnavailable || verdict == Verdict::kNeverServed) {
      core_.ReportUnavailable(endpoint_);
    }
    verdict = JudgeToken(verdict);
    return ToCallStatus(status, verdict, address_);
  }

  /// Gives up a token that was rejected. If an old token may have caused a denial, the outcome is
  /// unknown.
  Verdict JudgeToken(Verdict verdict) {
    if (verdict == Verdict::kTokenRejected) {
      if (core_.options().user.empty()) return Verdict::kDenied;
      core_.tokens().GiveUp(token_.generation);
    }
    const bool old_token =
        verdict == Verdict::kDenied && core_.tokens().GiveUpUnlessFresh(token_.generation);
    return old_token ? Verdict::kTokenRejected : verdict;
  }

 private:
  static constexpr std::size_t kQueueBound = 4;

  // gRPC orders the reactions in a way that race detectors don't see; they see this lock.
  void OrderReactions() { const std::lock_guard lock(mutex_); }

  void Begin(const Token& token) {
    token_ = token;
    {
      const std::lock_guard lock(mutex_);
      if (!cancelled_) begun_ = true;
    }
    if (!begun_)
      return End({.outcome = Outcome::kUnknown,
                  .code = grpc::StatusCode::CANCELLED,
                  .message = address_ + ": cancelled before it was opened"});
    // Makes a member without a raft leader end the stream; otherwise it would stay silent.
    context_->AddMetadata("hasleader", "true");
    AddToken(*context_, token_);
    Bind(*core_.stubs(endpoint_), *context_);
    // Held until the last read, because requests are sent from outside the reactions.
    this->AddHold();
    this->StartRead(&response_);
    this->StartCall();
    {
      const std::lock_guard lock(mutex_);
      open_ = true;
    }
    Flush();
  }

  void Flush() {
    {
      const std::lock_guard lock(mutex_);
      if (!open_ || over_ || writing_ || queue_.empty()) return;
      writing_ = true;
      request_ = std::move(queue_.front());
      queue_.pop_front();
      // The write has its own hold: the last read may fail before the write is started.
      this->AddHold();
    }
    this->StartWrite(&request_);
    this->RemoveHold();
  }

  void End(CallStatus status) {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    Tell([&status](const Handler& handler) { handler.ended(std::move(status)); });
    Release();
    const auto self = core_.Unregister(this);
  }

  // Drops what the handler and the context hold before the transport's destructor may return.
  void Release() {
    Handler released;
    const std::lock_guard lock(mutex_);
    detached_ = true;
    released = std::exchange(handler_, Handler{});
    context_.reset();
  }

  GrpcCore& core_;
  const std::string address_;
  Handler handler_;  // used by the reactions while calling_, otherwise guarded by mutex_
  const std::size_t endpoint_;
  Token token_;
  Request request_;    // gRPC uses it while writing_
  Response response_;  // gRPC uses it during a read

  std::mutex mutex_;
  std::condition_variable returned_;
  std::deque<Request> queue_;  // mutex_
  // mutex_; gRPC uses its content. Null after the end of the stream.
  std::unique_ptr<grpc::ClientContext> context_ = std::make_unique<grpc::ClientContext>();
  bool begun_ = false;      // mutex_; bound to a call
  bool open_ = false;       // mutex_; the call is started, so writes may start
  bool writing_ = false;    // mutex_
  bool over_ = false;       // mutex_; no write may start
  bool cancelled_ = false;  // mutex_
  bool detached_ = false;   // mutex_; Detach has begun
  bool calling_ = false;    // mutex_; a callback runs
  std::thread::id caller_;  // mutex_
};

}  // namespace baton::etcd
