// sidecar: the messages of an application in another process (AttachRequest), as a stream hands
// them to an Attachment whose node asks for callbacks meanwhile.
//
// Must hold: refusals are one line. Each callback completes at most once, and none after the end.
// The application hears only of its own shards. What it says of a standby names the present one.
// Deadlines and absence follow the clock.
#include <map>

#include "fuzz/targets.h"
#include "sidecar/attachment.h"

namespace baton::fuzz {
namespace {

namespace v1 = ::baton::v1;

constexpr std::size_t kMaxSteps = 64;
constexpr std::uint32_t kShards = 4;

class HandClock final : public Clock {
 public:
  TimePoint Now() const override { return now; }
  TimePoint now = TimePoint(std::chrono::seconds(1000));
};

// Takes the waiting messages, and remembers the token.
class Reader final : public sidecar::Stream {
 public:
  explicit Reader(sidecar::Attachment& attachment) : attachment_(attachment) {}
  void Kick() override {
    while (const auto message = attachment_.Take(*this)) {
      Must(message->has_deadline(), "each message has a deadline");
      if (message->has_welcome()) token = message->welcome().token();
      for (const v1::AttachEvent& event : message->events()) {
        Must(event.shard() < kShards, "an event is of a shard there is");
        if (event.operation() != 0) last_operation = event.operation();
      }
    }
  }
  void End(sidecar::Refusal why) override {
    MustBeOneLine(why.message);
    ended = true;
  }

  std::string token;
  std::uint64_t last_operation = 0;
  bool ended = false;

 private:
  sidecar::Attachment& attachment_;
};

class Trial {
 public:
  Trial() {
    attachment_.Begin([](core::ApplicationState) {},
                      [this](const core::StandbyReadySaid& word) {
                        Must(!over_, "nothing is said after the end");
                        const auto standby = standbys_.find(word.shard);
                        Must(standby != standbys_.end() && standby->second == word.operation,
                             "a word names its shard's present standby");
                      });
  }
  ~Trial() {
    attachment_.End();
    over_ = true;
  }

  void Step(Input& input) {
    switch (input.Choice(8)) {
      case 0: return Hear(input.Part());
      case 1: return Run(input);
      case 2: return attachment_.OnDeadline(clock_.now + std::chrono::seconds(input.Choice(256)));
      case 3:
        return attachment_.OnNotLed(ShardId{static_cast<std::uint32_t>(input.Choice(kShards))});
      case 4: return Pass(std::chrono::milliseconds(100 * input.Choice(256)));
      case 5: return EndStream();
      case 6: return attachment_.OnChanged(attachment_.state());
      default: return AnswerLast();
    }
  }

 private:
  // Does what the service does.
  void Hear(std::string_view bytes) {
    v1::AttachRequest request;
    if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
    if (reader_ == nullptr || reader_->ended) {
      if (!request.has_hello()) return;
      if (request.hello().token() == "own") request.mutable_hello()->set_token(token_);
      auto reader = std::make_shared<Reader>(attachment_);
      const auto refusal = attachment_.Attach(reader, request.hello(), nullptr);
      if (refusal) return MustBeOneLine(refusal->message);
      reader_ = std::move(reader);
      reader_->Kick();
      if (!reader_->token.empty()) token_ = reader_->token;
    }
    for (const v1::AttachAnswer& answer : request.answers()) {
      if (answer.operation() == 0) continue;
      attachment_.Answer(*reader_, answer.operation(), answer.ok(), answer.error());
    }
    for (const v1::AttachStandby& standby : request.standbys()) {
      attachment_.SayReady(*reader_, standby.operation(), standby.ready());
    }
  }

  void Run(Input& input) {
    core::RunCallback callback;
    callback.operation = ++operations_;
    callback.shard = ShardId{static_cast<std::uint32_t>(input.Choice(kShards))};
    callback.kind = static_cast<core::CallbackKind>(input.Choice(8));
    callback.term = Term{static_cast<std::int64_t>(input.Byte()) + 1};
    switch (callback.kind) {
      case core::CallbackKind::kStandby: standbys_[callback.shard] = callback.operation; break;
      case core::CallbackKind::kStandbyEnded:
      case core::CallbackKind::kAcquired:
      case core::CallbackKind::kLost: standbys_.erase(callback.shard); break;
      default: break;
    }
    attachment_.Run(
        callback, [this, done = std::make_shared<bool>(false)](bool ok, const std::string& error) {
          if (!error.empty()) MustBeOneLine(error);
          Must(!ok || error.empty(), "a callback that succeeded has no error");
          Must(!over_, "nothing completes after the end");
          Must(!std::exchange(*done, true), "a callback completes once");
        });
  }

  void Pass(Duration time) {
    clock_.now += time;
    const TimePoint next = attachment_.Advance();
    Must(next > clock_.now, "what is due was done");
    if (reader_ != nullptr && !reader_->ended) reader_->Kick();
  }

  void EndStream() {
    if (reader_ == nullptr) return;
    attachment_.Ended(*reader_);
    reader_ = nullptr;
  }

  void AnswerLast() {
    if (reader_ == nullptr || reader_->last_operation == 0) return;
    attachment_.SayReady(*reader_, reader_->last_operation, true);
    attachment_.Answer(*reader_, reader_->last_operation, true);
  }

  HandClock clock_;
  bool over_ = false;
  std::uint64_t operations_ = 0;
  std::map<ShardId, std::uint64_t> standbys_;  // those that go on: the operations that began them
  std::string token_;
  sidecar::Attachment attachment_{
      {.group = "orders", .node = "n1", .shards = kShards, .most_waiting = 16}, clock_, [] {}};
  std::shared_ptr<Reader> reader_;
};

}  // namespace

void RunSidecar(std::string_view bytes) {
  Input input(bytes);
  Trial trial;
  for (std::size_t i = 0; i < kMaxSteps && !input.empty(); ++i) trial.Step(input);
}

std::vector<Seed> SidecarSeeds() {
  const auto hello = [](const std::string& token) {
    v1::AttachRequest request;
    request.mutable_hello()->set_protocol(1);
    request.mutable_hello()->set_group("orders");
    request.mutable_hello()->set_client("app 1.0");
    request.mutable_hello()->set_token(token);
    return std::string(1, '\0') + PartBytes(request.SerializeAsString());
  };
  v1::AttachRequest answer;
  answer.add_answers()->set_operation(1);
  const std::string acquired("\1\2\1\7", 4);
  v1::AttachRequest ready;
  ready.add_standbys()->set_operation(1);
  ready.mutable_standbys(0)->set_ready(true);
  const std::string standby("\1\2\6\7", 4);
  const std::string standby_ended("\1\2\7\7", 4);
  const std::string deadline("\2\x0A", 2);
  const std::string pass("\4\x14", 2);
  return {
      {"attach", hello("") + deadline + acquired + "\7"},
      {"answer",
       hello("") + acquired + std::string(1, '\0') + PartBytes(answer.SerializeAsString())},
      {"resume", hello("") + deadline + acquired + "\5" + pass + hello("own")},
      {"standby", hello("") + standby + std::string(1, '\0') +
                      PartBytes(ready.SerializeAsString()) + standby_ended + std::string(1, '\0') +
                      PartBytes(ready.SerializeAsString()) + standby + "\7"},
      {"another", hello("") + hello("") + "\5" + hello("someone")},
      {"overdue", hello("") + deadline + acquired + "\5\4\xFF" + hello("")}};
}

}  // namespace baton::fuzz
