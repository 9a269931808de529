#include "sidecar/attachment.h"

#include <algorithm>
#include <limits>
#include <random>
#include <utility>

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "base/escape.h"
#include "base/log.h"
#include "sidecar/attach_events.h"
#include "sidecar/attach_hello.h"

namespace baton::sidecar {
namespace {

using core::ApplicationState;
using core::CallbackKind;
using google::protobuf::util::TimeUtil;
using v1::AttachEvent;

constexpr std::size_t kEventsInAMessage = 4096;

std::string RandomToken() {
  std::random_device device;
  std::string token;
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t word = device();
    token.append(reinterpret_cast<const char*>(&word), sizeof(word));
  }
  return token;
}

std::string Milliseconds(Duration duration) {
  return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(duration).count()) + " ms";
}

}  // namespace

Attachment::Attachment(AttachmentOptions options, const Clock& clock, std::function<void()> wake)
    : options_(std::move(options)),
      most_waiting_(options_.most_waiting != 0 ? options_.most_waiting
                                               : 8 * std::size_t{options_.shards} + 1000),
      clock_(clock),
      wake_(std::move(wake)) {}

// Call it without the lock held: streams call back.
void Attachment::Make(const Calls& calls) const {
  if (calls.kick != nullptr) calls.kick->Kick();
  if (calls.end != nullptr) calls.end->End(calls.why);
  if (calls.wake && wake_) wake_();
}

// ---- the node ----------------------------------------------------------------------------------

void Attachment::Begin(std::function<void(ApplicationState)> changed,
                       std::function<void(const core::StandbyReadySaid&)> said) {
  const std::lock_guard lock(mutex_);
  changed_ = std::move(changed);
  said_ = std::move(said);
  if (state_ != ApplicationState::kAbsent) changed_(state_);
}

void Attachment::Change(ApplicationState state) {
  state_ = state;
  if (changed_ == nullptr || ended_) return;
  if (state == ApplicationState::kAbsent) ++absences_unseen_;
  changed_(state);
}

void Attachment::OnChanged(ApplicationState state) {
  const std::lock_guard lock(mutex_);
  if (state == ApplicationState::kAbsent) --absences_unseen_;
}

// If nobody is attached, nobody acts and nobody has to stop, so the callback is done at once.
void Attachment::Run(const core::RunCallback& callback, Done done) {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return;
    if (state_ == ApplicationState::kAbsent || absences_unseen_ > 0) return done(true, "");
    if (callback.kind == CallbackKind::kAcquired)
      acting_[callback.shard] = {callback.term, callback.operation};
    if (callback.kind == CallbackKind::kLost) {
      acting_.erase(callback.shard);
      CompleteBefore(callback.operation, callback.shard);
    }
    for (const std::uint64_t obsolete : standing_by_.Note(callback)) Complete(obsolete);
    if (IsAnswered(callback.kind)) {
      Await(callback, std::move(done));
    } else {
      done(true, "");
    }
    if (pending_.size() > most_waiting_) CutOff(bounds_.unanswered, "it does not answer", calls);
    Push(EventOf(callback), calls);
  }
  Make(calls);
}

void Attachment::Await(const core::RunCallback& callback, Done done) {
  pending_[callback.operation] = {callback, std::move(done)};
  const bool ends_with_shard =
      callback.kind == CallbackKind::kAcquired || callback.kind == CallbackKind::kReleasing;
  if (ends_with_shard) ended_with_shard_.emplace(callback.shard, callback.operation);
}

// Completes the shard's earlier callbacks. If they were sent again after their end, they would
// restart it. Nobody knows whether an `acquired` would have succeeded, so it did not.
void Attachment::CompleteBefore(std::uint64_t operation, ShardId shard) {
  auto next = ended_with_shard_.lower_bound({shard, 0});
  while (next != ended_with_shard_.end() && next->first == shard && next->second < operation) {
    Complete(next->second);
    next = ended_with_shard_.erase(next);
  }
}

void Attachment::Complete(std::uint64_t operation) {
  const auto over = pending_.extract(operation);
  if (over.empty()) return;
  if (over.mapped().callback.kind != CallbackKind::kAcquired) return over.mapped().done(true, "");
  over.mapped().done(false, "it had not returned when its shard was given away or lost");
}

void Attachment::OnNotLed(ShardId shard) {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    const auto found = acting_.find(shard);
    if (found == acting_.end() || absences_unseen_ > 0) return;
    const AttachEvent stop = EventOf(AttachEvent::KIND_STOP, shard, found->second.term);
    acting_.erase(found);
    CompleteBefore(std::numeric_limits<std::uint64_t>::max(), shard);
    Push(stop, calls);
  }
  Make(calls);
}

void Attachment::OnDeadline(TimePoint deadline) {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    if (absences_unseen_ > 0 || deadline == newest_) return;
    newest_ = deadline;
    if (!std::exchange(deadline_unsent_, true)) unsent_since_ = clock_.Now();
    calls.kick = stream_;
  }
  Make(calls);
  Calls late;
  {
    const std::lock_guard lock(mutex_);
    late.wake = deadline_unsent_ && stream_ != nullptr;  // a write takes time
  }
  Make(late);
}

void Attachment::End() {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    changed_ = nullptr;
    said_ = nullptr;
    pending_.clear();
    ended_with_shard_.clear();
    calls.end = stream_;
    calls.why = {Refusal::Kind::kUnavailable,
                 "this node is stopping; attach again when it is back"};
  }
  Make(calls);
}

// ---- messages to the application ---------------------------------------------------------------

void Attachment::Push(AttachEvent event, Calls& calls) {
  if (stream_ == nullptr) return;  // it comes back: see TellAgain
  unsent_.push_back(std::move(event));
  if (unsent_.size() > most_waiting_) return CutOff(bounds_.unread, "it does not read", calls);
  calls.kick = stream_;
}

std::optional<v1::AttachResponse> Attachment::Take(const Stream& stream) {
  const std::lock_guard lock(mutex_);
  if (stream_.get() != &stream) return std::nullopt;
  if (!welcome_ && unsent_.empty() && !deadline_unsent_) return std::nullopt;
  v1::AttachResponse response;
  if (welcome_) *response.mutable_welcome() = *std::exchange(welcome_, std::nullopt);
  while (!unsent_.empty() && response.events_size() < static_cast<int>(kEventsInAMessage)) {
    *response.add_events() = std::move(unsent_.front());
    unsent_.pop_front();
  }
  // A later deadline must not overtake a stop that still waits.
  written_ = unsent_.empty() ? Allowed() : std::min(written_, Allowed());
  deadline_unsent_ = written_ != Allowed();
  unsent_since_ = clock_.Now();
  auto* const deadline = response.mutable_deadline();
  if (written_ == TimePoint::min()) return response;
  told_ = std::max(told_, written_);
  deadline->set_boottime_ns(written_.time_since_epoch().count());
  const auto left = std::max<Duration>(Duration{0}, written_ - unsent_since_);
  *deadline->mutable_remaining() = TimeUtil::NanosecondsToDuration(left.count());
  return response;
}

// ---- attaching ---------------------------------------------------------------------------------

// Clients in one process share its death, and a fork may share its parent's token. So only both
// together identify the application.
bool Attachment::IsSame(const v1::AttachHello& hello, const PeerProcess* peer) const {
  if (token_.empty() || hello.token() != token_) return false;
  return peer_ == nullptr || (peer != nullptr && peer->Is(*peer_));
}

std::optional<Refusal> Attachment::Attach(const std::shared_ptr<Stream>& stream,
                                          const v1::AttachHello& hello,
                                          std::shared_ptr<const PeerProcess> peer) {
  if (auto refusal = CheckHello(hello, options_.group, clock_.Now())) return refusal;
  if (peer != nullptr && peer->ProvenDead()) {
    return Refusal{Refusal::Kind::kUnavailable,
                   "the process that connected has ended; the application itself must connect"};
  }
  // A proxy connected, whose death proves nothing about the application. 0 says nothing: the kernel
  // gives it for processes that are not visible here, and an application that does not say its own.
  if (peer != nullptr && (hello.pid() == 0 || peer->pid() != hello.pid())) peer = nullptr;
  Calls calls;
  std::optional<Refusal> refusal;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_) CheckProofAndTime(calls);
    const bool watched = options_.watchdog > Duration{0};
    if (watched && !hello.alive() && state_ == ApplicationState::kAbsent) {
      refusal = Refusal{Refusal::Kind::kUnavailable,
                        "this batond has a watchdog of " + Milliseconds(options_.watchdog) +
                            ", and hello.alive is not set; attach once the application gives a "
                            "sign of life"};
    } else if (ended_) {
      refusal = Refusal{Refusal::Kind::kUnavailable, "this node is stopping; attach again later"};
    } else if (state_ == ApplicationState::kAbsent || IsSame(hello, peer.get())) {
      if (stream_ != nullptr && calls.end == nullptr) {
        calls.end = stream_;
        calls.why = {Refusal::Kind::kTaken, "this application has attached again"};
      }
      stream_ = stream;
      BeginStream(hello, std::move(peer));
      calls.kick = stream;
      if (hello.alive()) ProlongLife(calls);
    } else if (state_ == ApplicationState::kAttached) {
      refusal = Refusal{Refusal::Kind::kTaken, "another application is attached ('" + client_ +
                                                   "'); give each one a batond of its own"};
    } else {
      refusal = Refusal{Refusal::Kind::kUnavailable,
                        "another application was attached and may still act for " +
                            Milliseconds(told_ - clock_.Now()) + "; attach again after that"};
    }
  }
  Make(calls);
  return refusal;
}

void Attachment::BeginStream(const v1::AttachHello& hello,
                             std::shared_ptr<const PeerProcess> peer) {
  const bool resumed = state_ != ApplicationState::kAbsent;
  if (!resumed) {
    token_ = RandomToken();
    peer_ = std::move(peer);
  }
  client_ = hello.client();
  unsent_.clear();
  unsent_since_ = clock_.Now();
  welcome_.emplace();
  welcome_->set_group(options_.group);
  welcome_->set_node(options_.node);
  welcome_->mutable_mapping()->set_shards(options_.shards);
  welcome_->mutable_mapping()->set_hash(
      static_cast<v1::KeyMapping::Hash>(static_cast<int>(options_.hash) + 1));
  welcome_->set_token(token_);
  welcome_->set_resumed(resumed);
  welcome_->set_protocol(kProtocol);
  if (options_.watchdog > Duration{0})
    *welcome_->mutable_watchdog() = TimeUtil::NanosecondsToDuration(options_.watchdog.count());
  if (resumed) TellAgain();
  log::Info(resumed ? "the application is attached again" : "an application is attached",
            {{"client", client_},
             {"pid", peer_ == nullptr ? std::string("unknown") : std::to_string(peer_->pid())}});
  if (state_ != ApplicationState::kAttached) Change(ApplicationState::kAttached);
}

void Attachment::TellAgain() {
  for (const auto& [shard, acting] : acting_) {
    if (acting.activated) unsent_.push_back(EventOf(AttachEvent::KIND_LED, shard, acting.term));
  }
  for (auto next = pending_.begin(); next != pending_.end();) {
    const core::RunCallback callback = (next++)->second.callback;
    if (!IsOvertaken(callback)) {
      unsent_.push_back(EventOf(callback));
      continue;
    }
    ended_with_shard_.erase({callback.shard, callback.operation});
    Complete(callback.operation);
  }
}

// Whether the callback ends something that a later callback has begun again, and the application
// has answered the later one. That one is not sent again, so this one would end what it began.
bool Attachment::IsOvertaken(const core::RunCallback& callback) const {
  const bool ends = callback.kind == CallbackKind::kReleasing ||
                    callback.kind == CallbackKind::kLost ||
                    callback.kind == CallbackKind::kStandbyEnded;
  const auto answered_since = [&](std::uint64_t operation) {
    return callback.operation < operation && !pending_.contains(operation);
  };
  const auto acting = acting_.find(callback.shard);
  const bool leads = acting != acting_.end() && acting->second.activated;
  return ends && ((leads && answered_since(acting->second.operation)) ||
                  answered_since(standing_by_.OperationOf(callback.shard)));
}

void Attachment::Answer(const Stream& stream, std::uint64_t operation, bool ok,
                        std::string_view error) {
  const std::lock_guard lock(mutex_);
  if (stream_.get() != &stream || ended_) return;
  auto found = pending_.extract(operation);
  if (!found.empty()) ended_with_shard_.erase({found.mapped().callback.shard, operation});
  if (found.empty()) return;  // it was answered or dropped before
  const Pending& pending = found.mapped();
  const auto acting = acting_.find(pending.callback.shard);
  const bool same = acting != acting_.end() && acting->second.term == pending.callback.term;
  if (same && pending.callback.kind == CallbackKind::kAcquired) acting->second.activated = ok;
  // A late answer to a callback that was given up: the shard has been acquired again since.
  const bool latest = same && operation > acting->second.operation;
  if (latest && pending.callback.kind == CallbackKind::kReleasing) {
    acting_.erase(acting);
    CompleteBefore(operation, pending.callback.shard);
  }
  pending.done(ok, ok ? "" : OneLine(error, runtime::kLongestCallbackError));
}

void Attachment::SayReady(const Stream& stream, std::uint64_t operation, bool ready) {
  const std::lock_guard lock(mutex_);
  if (stream_.get() != &stream || ended_) return;
  if (const auto shard = standing_by_.ShardOf(operation)) said_({operation, *shard, ready});
}

void Attachment::NoteAlive(const Stream& stream) {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    if (stream_.get() != &stream || ended_) return;
    // A sign that comes too late must not bring back what others may lead already.
    CheckProofAndTime(calls);
    if (stream_ != nullptr) ProlongLife(calls);
  }
  Make(calls);
}

// REQUIRES: the lock is held, and a stream is attached.
void Attachment::ProlongLife(Calls& calls) {
  if (options_.watchdog == Duration{0}) return;
  alive_until_ = clock_.Now() + options_.watchdog;
  calls.wake = true;
  if (written_ == Allowed()) return;
  if (!std::exchange(deadline_unsent_, true)) unsent_since_ = clock_.Now();
  calls.kick = stream_;
}

// ---- detaching ---------------------------------------------------------------------------------

void Attachment::Ended(const Stream& stream) {
  Calls calls;
  {
    const std::lock_guard lock(mutex_);
    if (stream_.get() != &stream) return;
    Detach(calls);
    if (!ended_) CheckProofAndTime(calls);
  }
  Make(calls);
}

void Attachment::Detach(Calls& calls) {
  stream_.reset();
  unsent_.clear();
  welcome_.reset();
  if (ended_) return;
  const Duration left = std::max(told_, clock_.Now()) - clock_.Now();
  log::Write(EndLevel(),
             acting_.empty() ? "the application's stream ended; it led nothing"
                             : "the application's stream ended; it keeps its shards until the last "
                               "deadline that it was sent",
             {{"client", client_}, {"left", Milliseconds(left)}});
  Change(ApplicationState::kDetached);
  calls.wake = true;
}

void Attachment::CutOff(std::uint64_t& bound, const std::string& why, Calls& calls) {
  if (stream_ == nullptr) return;
  ++bound;
  calls.kick = nullptr;
  calls.end = stream_;
  calls.why = {Refusal::Kind::kExhausted,
               "the application is cut off: " + why + "; attach again, and keep reading"};
  Detach(calls);
}

void Attachment::BeAbsent(const std::string& why, Calls& calls) {
  if (stream_ != nullptr) {
    calls.kick = nullptr;
    calls.end = stream_;
    calls.why = {Refusal::Kind::kUnavailable, "the application is gone: " + why};
  }
  log::Write(EndLevel(), "the application is gone: " + why, {{"client", client_}});
  stream_.reset();
  peer_.reset();
  unsent_.clear();
  welcome_.reset();
  token_.clear();
  acting_.clear();
  standing_by_.Clear();
  newest_ = written_ = told_ = TimePoint::min();
  alive_until_ = TimePoint::max();
  Change(ApplicationState::kAbsent);
  ended_with_shard_.clear();
  for (const auto& [operation, pending] : std::exchange(pending_, {})) pending.done(true, "");
}

void Attachment::CheckProofAndTime(Calls& calls) {
  if (state_ == ApplicationState::kAbsent) return;
  if (peer_ != nullptr && peer_->ProvenDead()) return BeAbsent("its process has ended", calls);
  if (clock_.Now() >= alive_until_) {  // and no deadline that it was sent is later
    ++bounds_.silent;
    return BeAbsent("it gave no sign of life for " + Milliseconds(options_.watchdog), calls);
  }
  const bool passed = clock_.Now() >= told_;
  if (state_ == ApplicationState::kAttached) {
    // The application does not read, so a deadline waits that should have been sent by now.
    const bool stuck = passed && told_ != TimePoint::min() && newest_ > clock_.Now() &&
                       deadline_unsent_ && clock_.Now() >= unsent_since_ + options_.patience;
    if (!stuck) return;
    CutOff(bounds_.slow_reader, "it does not read", calls);
  }
  if (passed) BeAbsent("the last deadline that it was sent has passed", calls);
}

TimePoint Attachment::Advance() {
  Calls calls;
  TimePoint next = TimePoint::max();
  {
    const std::lock_guard lock(mutex_);
    if (ended_) return next;
    CheckProofAndTime(calls);
    calls.wake = false;
    if (state_ == ApplicationState::kDetached) next = told_;
    if (state_ != ApplicationState::kAbsent) next = std::min(next, alive_until_);
    const TimePoint stuck = std::max(told_, unsent_since_ + options_.patience);
    if (state_ == ApplicationState::kAttached && deadline_unsent_ && stuck > clock_.Now())
      next = std::min(next, stuck);
  }
  Make(calls);
  return next;
}

ApplicationState Attachment::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

SidecarBounds Attachment::bounds() const {
  const std::lock_guard lock(mutex_);
  return bounds_;
}

std::shared_ptr<const PeerProcess> Attachment::peer() const {
  const std::lock_guard lock(mutex_);
  return peer_;
}

}  // namespace baton::sidecar
