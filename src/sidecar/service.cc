#include "sidecar/service.h"

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/grpc/server_tls.h"

namespace baton::sidecar {
namespace {

constexpr int kMaxWords = 10'000;  // answers in a message, and also standbys

grpc::Status StatusOf(const Refusal& why) {
  switch (why.kind) {
    case Refusal::Kind::kMalformed: return {grpc::StatusCode::INVALID_ARGUMENT, why.message};
    case Refusal::Kind::kOtherGroup: return {grpc::StatusCode::NOT_FOUND, why.message};
    case Refusal::Kind::kTaken: return {grpc::StatusCode::ALREADY_EXISTS, why.message};
    case Refusal::Kind::kUnavailable: return {grpc::StatusCode::UNAVAILABLE, why.message};
    case Refusal::Kind::kExhausted: return {grpc::StatusCode::RESOURCE_EXHAUSTED, why.message};
    case Refusal::Kind::kDenied: return {grpc::StatusCode::PERMISSION_DENIED, why.message};
  }
  return {grpc::StatusCode::INTERNAL, why.message};
}

Refusal Malformed(std::string message) { return {Refusal::Kind::kMalformed, std::move(message)}; }

Refusal TooMany(int count, std::string_view words) {
  return Malformed(
      fmt::format("a message has {} {}; send at most {} in one", count, words, kMaxWords));
}

// One stream. It owns itself from Begin to OnDone; meanwhile the attachment shares it.
class AttachStream final : public Stream,
                           public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>,
                           public std::enable_shared_from_this<AttachStream> {
 public:
  AttachStream(std::shared_ptr<Attachment> attachment, std::shared_ptr<const access::Access> access,
               Service::Peer peer)
      : attachment_(std::move(attachment)), access_(std::move(access)), peer_(std::move(peer)) {}

  void Begin() {
    self_ = shared_from_this();
    StartSendInitialMetadata();
    StartRead(&read_);
  }

  // Stream.
  void Kick() override {
    const std::lock_guard lock(mutex_);
    Pump();
  }
  void End(Refusal why) override {
    const std::lock_guard lock(mutex_);
    if (!ending_) ending_ = StatusOf(why);
    Pump();
  }

  // Called by gRPC.
  void OnReadDone(bool ok) override {
    if (!ok) return Leave(grpc::Status::OK);
    if (const auto wrong = Hear()) return Leave(StatusOf(*wrong));
    StartRead(&read_);
  }
  void OnWriteDone(bool ok) override {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok && !ending_) ending_ = grpc::Status::CANCELLED;
    broken_ = broken_ || !ok;
    Pump();
  }
  void OnCancel() override { Leave(grpc::Status::CANCELLED); }
  void OnDone() override {
    attachment_->Ended(*this);
    const auto last = std::exchange(self_, nullptr);  // keeps this until the function's end
  }

 private:
  std::optional<Refusal> Hear() {
    v1::AttachRequest request;
    const grpc::Status parsed =
        grpc::SerializationTraits<v1::AttachRequest>::Deserialize(&read_, &request);
    if (!parsed.ok()) {
      return Malformed("this is not a baton.v1.AttachRequest; send the messages of sidecar.proto");
    }
    if (request.answers_size() > kMaxWords) return TooMany(request.answers_size(), "answers");
    if (request.standbys_size() > kMaxWords) return TooMany(request.standbys_size(), "standbys");
    if (!attached_) {
      if (!request.has_hello()) return Malformed("the first message must have a hello");
      attached_ = true;
      if (auto why = access_->Refusal(peer_.caller, access::RoleFor("Attach").value())) {
        if (peer_.complaints != nullptr) peer_.complaints->SayDenied(peer_.caller);
        access_->Tell(peer_.caller, "Attach", *why);
        // On another connection the kernel may say who it is.
        const bool unknown = why->why == access::Refused::Why::kUnknown;
        const auto kind = unknown ? Refusal::Kind::kUnavailable : Refusal::Kind::kDenied;
        return Refusal{kind, std::move(why->line)};
      }
      if (peer_.may_attach) peer_.may_attach();
      if (auto refusal = attachment_->Attach(shared_from_this(), request.hello(), peer_.process)) {
        return refusal;
      }
    } else if (request.has_hello()) {
      return Malformed("hello was sent twice; send it in the first message only");
    }
    if (request.alive()) attachment_->NoteAlive(*this);
    for (const v1::AttachAnswer& answer : request.answers()) {
      if (answer.operation() == 0) {
        return Malformed("an answer names operation 0; answer only events that have an operation");
      }
      attachment_->Answer(*this, answer.operation(), answer.ok(), answer.error());
    }
    for (const v1::AttachStandby& standby : request.standbys()) {
      attachment_->SayReady(*this, standby.operation(), standby.ready());
    }
    return std::nullopt;
  }

  /// Ends the stream.
  void Leave(grpc::Status status) {
    attachment_->Ended(*this);
    const std::lock_guard lock(mutex_);
    if (!ending_) ending_ = std::move(status);
    Pump();
  }

  // REQUIRES: mutex_ held.
  void Pump() {
    if (writing_ || finished_) return;
    if (!broken_) {
      if (const auto response = attachment_->Take(*this)) {
        bool own = false;
        write_.Clear();  // Serialize expects an empty buffer
        writing_ = true;
        const grpc::Status made =
            grpc::SerializationTraits<v1::AttachResponse>::Serialize(*response, &write_, &own);
        if (made.ok()) return StartWrite(&write_);
      }
    }
    if (!ending_) return;
    finished_ = true;
    Finish(*ending_);
  }

  const std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<const access::Access> access_;
  const Service::Peer peer_;
  std::shared_ptr<AttachStream> self_;
  bool attached_ = false;  // needs no lock: reads run one after another
  grpc::ByteBuffer read_;

  std::mutex mutex_;  // guards what follows; taken before the attachment's mutex
  grpc::ByteBuffer write_;
  bool writing_ = false;
  bool broken_ = false;
  bool finished_ = false;
  std::optional<grpc::Status> ending_;
};

}  // namespace

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Service::Attach(
    grpc::CallbackServerContext* context) {
  Peer peer = peer_;
  access::Certify(peer.caller, CertificateOf(*context), std::chrono::system_clock::now());
  const auto stream = std::make_shared<AttachStream>(attachment_, access_, std::move(peer));
  stream->Begin();
  return stream.get();
}

}  // namespace baton::sidecar
