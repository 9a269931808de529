// StreamCall: a bidirectional stream with one owner, for keepalives and watches. Only for this
// folder.
//
// The owner's handle calls Send and Detach, from any thread. All steps of the stream (the start,
// reads, writes and the end) begin and complete on one thread, that of Queue(). GrpcCore keeps the
// object alive until the stream has ended and no step is outstanding.
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
class StreamCall : public Operation,
                   public std::enable_shared_from_this<StreamCall<Request, Response, Handler>> {
 public:
  StreamCall(GrpcCore& core, Use use, std::size_t endpoint, Handler handler)
      : core_(core),
        use_(use),
        address_(core.address(endpoint)),
        handler_(std::move(handler)),
        endpoint_(endpoint) {}

  const std::string& address() const { return address_; }

  /// Opens the stream. If a token is needed and missing, Open gets one first, within `unary_bound`.
  /// If it gets none, the stream does not open, and `ended` comes. If the transport is closing,
  /// does nothing, and no callback comes. REQUIRES (not checked): called once.
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

  /// Queues a request until the stream is open. Does nothing if the stream is over, or if
  /// kQueueBound requests wait already.
  void Send(Request request) {
    const std::lock_guard lock(mutex_);
    if (over_ || queue_.size() >= kQueueBound) return;
    queue_.push_back(std::move(request));
    if (open_ && !writing_) WakeUp();  // otherwise a later step looks at the queue
  }

  /// The owner is being destroyed: no callback starts from now on. Waits for a callback that runs
  /// on another thread, then cancels the stream. May be called inside a callback.
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
    // Before the call, Start sees cancelled_. If the stream is over, no step may follow its end.
    if (called_ && !over_) WakeUp();
  }

 protected:
  using Stream = std::unique_ptr<grpc::ClientAsyncReaderWriter<Request, Response>>;

  /// The queue on whose thread the steps begin and complete.
  virtual grpc::CompletionQueue& Queue() = 0;
  /// Prepares a call of the stream's method with `context`, for Queue().
  virtual Stream Prepare(EndpointStubs& stubs, grpc::ClientContext& context) = 0;
  /// Handles one response. Responses come in order. `response` is valid, and may be changed, until
  /// this function returns.
  virtual void Received(Response& response) = 0;
  /// Returns the status for `ended`. `status`: gRPC's status at the end of the stream.
  virtual CallStatus FinalStatus(const grpc::Status& status) { return Judge(status); }

  GrpcCore& core() { return core_; }
  bool over() {
    const std::lock_guard lock(mutex_);
    return over_;
  }

  /// Runs `call(handler)`, but does nothing if Detach has begun.
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
      core_.ReportUnavailable(endpoint_, use_);
    }
    verdict = JudgeToken(verdict);
    return ToCallStatus(status, verdict, address_);
  }

  /// Corrects a verdict about the token, and gives a rejected token up. Without a user, a rejection
  /// becomes kDenied. A denial that an old token may have caused becomes kTokenRejected.
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

  /// Calls a member function of the stream when the step has completed.
  class MemberStep final : public Step {
   public:
    MemberStep(StreamCall& stream, void (StreamCall::*completed)(bool))
        : stream_(stream), completed_(completed) {}
    void Completed(bool ok) override { (stream_.*completed_)(ok); }

   private:
    StreamCall& stream_;
    void (StreamCall::*const completed_)(bool);
  };

  // The token may come on another thread.
  void Begin(const Token& token) {
    token_ = token;
    const std::lock_guard lock(mutex_);
    begins_ = true;
    WakeUp();
  }

  // REQUIRES: mutex_ is locked.
  void WakeUp() {
    if (waking_) return;
    waking_ = true;
    wake_.Set(Queue(), woken_);
  }

  void Woken(bool /*ok*/) {
    bool begins = false;
    {
      const std::lock_guard lock(mutex_);
      waking_ = false;
      begins = std::exchange(begins_, false);
      if (cancelled_ && context_) context_->TryCancel();
    }
    if (begins) return Start();
    if (ended_) return EndUnlessOutstanding();
    Flush();
  }

  void Start() {
    {
      // Started waits for this lock: gRPC may complete the start before StartCall returns.
      const std::lock_guard lock(mutex_);
      if (!cancelled_) {
        // Makes a member without a raft leader end the stream; otherwise it would stay silent.
        context_->AddMetadata("hasleader", "true");
        AddToken(*context_, token_);
        stream_ = Prepare(*core_.stubs(endpoint_), *context_);
        called_ = true;
        stream_->StartCall(started_.tag());
        return;
      }
    }
    End({.outcome = Outcome::kUnknown,
         .code = grpc::StatusCode::CANCELLED,
         .message = address_ + ": cancelled before it was opened"});
  }

  void Started(bool ok) {
    {
      const std::lock_guard lock(mutex_);
      open_ = ok;
    }
    if (!ok) return Finish();
    stream_->Read(&response_, read_.tag());
    Flush();
  }

  void WasRead(bool ok) {
    if (!ok) return Finish();
    Received(response_);
    response_ = {};  // frees its memory: the next one may come late
    stream_->Read(&response_, read_.tag());
  }

  void Flush() {
    // gRPC may complete the write before Write returns; Written waits for this lock.
    const std::lock_guard lock(mutex_);
    if (!open_ || over_ || writing_ || queue_.empty()) return;
    writing_ = true;
    stream_->Write(queue_.front(), written_.tag());  // copies the request
    queue_.pop_front();
  }

  void Written(bool ok) {
    {
      const std::lock_guard lock(mutex_);
      writing_ = false;
    }
    if (ended_) return EndUnlessOutstanding();
    if (ok) Flush();
  }

  void Finish() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    stream_->Finish(&status_, finished_.tag());
  }

  void Finished(bool /*ok*/) {
    ended_ = true;
    EndUnlessOutstanding();
  }

  // If a write or a wake is outstanding, its step ends the stream.
  void EndUnlessOutstanding() {
    {
      const std::lock_guard lock(mutex_);
      if (writing_ || waking_) return;
    }
    End(FinalStatus(status_));
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
    stream_.reset();
    context_.reset();
  }

  GrpcCore& core_;
  const Use use_;
  const std::string address_;
  Handler handler_;  // used by the steps while calling_, otherwise guarded by mutex_
  const std::size_t endpoint_;
  Token token_;
  Response response_;    // gRPC uses it during a read
  grpc::Status status_;  // set by gRPC before Finished
  bool ended_ = false;   // status_ is set; used by the steps only
  MemberStep started_{*this, &StreamCall::Started};
  MemberStep read_{*this, &StreamCall::WasRead};
  MemberStep written_{*this, &StreamCall::Written};
  MemberStep finished_{*this, &StreamCall::Finished};
  MemberStep woken_{*this, &StreamCall::Woken};

  std::mutex mutex_;
  std::condition_variable returned_;
  std::deque<Request> queue_;  // mutex_
  // mutex_; gRPC uses its content. Null after the end of the stream.
  std::unique_ptr<grpc::ClientContext> context_ = std::make_unique<grpc::ClientContext>();
  Stream stream_;           // set under mutex_ before the call is started
  Wake wake_;               // mutex_
  bool waking_ = false;     // mutex_; wake_ is set
  bool called_ = false;     // mutex_; StartCall was called
  bool begins_ = false;     // mutex_; the token is there, and the call has not started
  bool open_ = false;       // mutex_; the call has started, so writes may start
  bool writing_ = false;    // mutex_
  bool over_ = false;       // mutex_; no write may start
  bool cancelled_ = false;  // mutex_
  bool detached_ = false;   // mutex_; Detach has begun
  bool calling_ = false;    // mutex_; a callback runs
  std::thread::id caller_;  // mutex_
};

}  // namespace baton::etcd
