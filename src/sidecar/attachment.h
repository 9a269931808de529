// Attachment: an application in another process, as the node sees it. It knows which messages were
// sent to the application, and which answers are missing. It knows until when the application may
// act, and whether the application is attached, detached or absent.
//
//   absent ──Attach──▶ attached ──stream ends──▶ detached ──the last sent deadline passes──▶ absent
//                         ▲                         │
//                         └──Attach: the same one───┘          proof of death: absent, at once
//
// The rules:
//   - A deadline counts as sent when Take has returned it, whether or not it arrives.
//   - The end of a stream is no proof of death. The application may act until the last sent
//     deadline. Until then its shards are not given away. No later deadline is sent, unless the
//     application attaches again.
//   - If the same application attaches again, it first gets LED for each leadership whose ACQUIRED
//     it has answered with ok. Then it gets the events that it has not answered, with the same
//     operation numbers. It still stands by for the same shards. If its earlier stream has not
//     ended, this object ends that stream.
//   - An application that attaches is the same one if its hello has the token of the last welcome.
//     If peer() is not null, the connection must also be from the process of peer(), and the hello
//     must have that process's id.
//   - A RELEASING, LOST or STANDBY_ENDED must not end what a later ACQUIRED or STANDBY of the shard
//     has begun. Suppose that the application attaches again, and has answered a later ACQUIRED
//     with ok, but not the LOST before it. LOST is then not sent again, because it would end what
//     ACQUIRED began. It counts as answered from this attach on, and not before: a shard whose LOST
//     has no answer is still stopping. The same holds for RELEASING and STANDBY_ENDED, and for
//     STANDBY instead of ACQUIRED.
//   - Another application may attach only when the earlier application is absent.
//   - A deadline that gives the application more time is sent only after all events that wait. A
//     deadline that gives it less time is sent with the next message.
//   - If the application became absent, and the node calls Run before it knows this (OnChanged),
//     the callback never reaches the next application: `done` gets ok at once.
//   - With a watchdog, no deadline is later than the last sign of life plus the watchdog's time.
//     After this time the application is absent. An absent application can attach only with a sign
//     of life in its hello, also the first time.
//
// Thread-safe; waits only for its lock. It calls streams and `wake` without the lock, so they may
// call back. It calls `done` of Run, `changed` and `said` with the lock held. REQUIRES: `done`,
// `changed` and `said` neither wait nor call this object.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "baton/log.h"
#include "baton/types.h"
#include "baton/v1/sidecar.pb.h"
#include "runtime/application.h"
#include "sidecar/peer_process.h"
#include "sidecar/standing_by.h"

namespace baton::sidecar {

/// Why a stream is ended or refused, with one line for the client.
struct Refusal {
  enum class Kind : std::uint8_t {
    kMalformed,    ///< the client breaks the protocol
    kOtherGroup,   ///< the client wants another group
    kTaken,        ///< another application, or another stream of this one, is attached
    kUnavailable,  ///< the client may try again later
    kExhausted,    ///< the client does not read or answer; it may attach again
    kDenied        ///< the caller lacks the role kLead
  };
  Kind kind = Kind::kUnavailable;
  std::string message;
};

/// The stream of an application. The Attachment shares the ownership of it. The methods are called
/// on any thread, perhaps before Attach returns, and must not wait.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Attachment::Take may have a message now, so the stream should call it.
  virtual void Kick() = 0;
  /// Writes the messages that Take still returns, then ends the stream with `why`. The stream need
  /// not call Ended after this.
  virtual void End(Refusal why) = 0;
};

/// How often each of the sidecar's limits was reached.
struct SidecarBounds {
  /// Connections that were closed at once: too many were open, DeniedPace gave no answer, or
  /// ReceiveBudget refused them.
  std::uint64_t connections = 0;
  /// If the port asks for no certificates, and it is known when a connection begins that its user
  /// lacks the role kLead, the connection counts once, and its streams don't. On other connections,
  /// each refused stream counts if its caller lacks the role, or is not known to have it.
  std::uint64_t denied = 0;
  std::uint64_t unread = 0;       ///< applications cut off: too many events waited for them
  std::uint64_t unanswered = 0;   ///< applications cut off: too many answers were missing
  std::uint64_t slow_reader = 0;  ///< applications cut off: see AttachmentOptions::patience
  std::uint64_t silent = 0;       ///< applications made absent: no sign of life in time
};

struct AttachmentOptions {
  std::string group;
  NodeId node;
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  /// The most events that wait to be written, and the most missing answers. If there are more of
  /// either while the application is attached, it is cut off: its stream ends with kExhausted, and
  /// it is detached. 0: 8 for each shard, plus 1,000.
  std::size_t most_waiting = 0;
  /// An application is cut off if its last deadline has passed, and a new deadline has waited for
  /// this long because the application does not read. It is then absent at once. Use a third of the
  /// TTL, and at least 1 s.
  Duration patience = std::chrono::seconds(1);
  /// The longest time without a sign of life. 0: there is no watchdog.
  Duration watchdog{0};
};

class Attachment final : public runtime::Application {
 public:
  /// This object calls `wake` when Advance should be called soon. It does so on any thread, also
  /// within a call of this object, without the lock held. `wake` may be empty. REQUIRES: `clock`
  /// outlives this object.
  Attachment(AttachmentOptions options, const Clock& clock, std::function<void()> wake);

  // The node calls these; see runtime::Application. Begin calls `changed` if the application is not
  // absent. Run calls `done` at once with ok while the application is absent, and for callbacks
  // that the application does not answer (IsAnswered). Otherwise the application's answer comes
  // later, and is passed to `done`. Instead of the answer, `done` gets ok in these cases:
  //   - The application is absent now.
  //   - A later callback, or the end of the shard's leadership, made this callback obsolete. But an
  //     acquired then gets a failure.
  //   - The application attached again, and the callback counts as answered (see the rules).
  // End ends the stream with kUnavailable. After End, Attach refuses, and Run does nothing.
  void Begin(std::function<void(core::ApplicationState)> changed,
             std::function<void(const core::StandbyReadySaid&)> said) override;
  void Run(const core::RunCallback& callback, Done done) override;
  void OnNotLed(ShardId shard) override;
  void OnDeadline(TimePoint deadline) override;
  void OnChanged(core::ApplicationState state) override;
  void End() override;

  // Streams call these.
  /// An application wants to attach on `stream`. `peer`: the process that connected, if its death
  /// can be proven; otherwise null. Returns nullopt if the application is attached now, and
  /// otherwise the refusal. Refuses at once if CheckHello (attach_hello.h) refuses the hello, or if
  /// `peer` is dead. Otherwise first does what Advance does. Besides the refusals of CheckHello:
  /// kTaken: another application is attached. kUnavailable: another application is detached and may
  /// still act; or `peer` is dead; or there is a watchdog, the application is absent, and the hello
  /// has no sign of life; or End was called. If the same application attaches again, its earlier
  /// stream ends with kTaken. Apart from the check for its death, `peer` is used only if `hello`
  /// names its process id, because a proxy may have connected. Does not check the caller's role.
  std::optional<Refusal> Attach(const std::shared_ptr<Stream>& stream, const v1::AttachHello& hello,
                                std::shared_ptr<const PeerProcess> peer);
  /// Returns the next message to write, with at most 4,096 events. Its deadline counts as sent from
  /// now on. nullopt: there is no message, or `stream` is not the present stream.
  std::optional<v1::AttachResponse> Take(const Stream& stream);
  /// The application has answered this operation. `error`: why it failed, any text; `done` gets one
  /// line of it, cut to runtime::kLongestCallbackError. Does nothing if `stream` is not the present
  /// stream, if the answer to this operation is not missing, or after End.
  void Answer(const Stream& stream, std::uint64_t operation, bool ok, std::string_view error = {});
  /// The application says whether it could at once serve a shard for which it stands by.
  /// `operation`: that of the STANDBY. Does nothing if `stream` is not the present stream, if this
  /// standby has ended, or after End.
  void SayReady(const Stream& stream, std::uint64_t operation, bool ready);
  /// The application gave a sign of life. First does what Advance does, so a sign comes too late if
  /// the watchdog's time is over, or the process has ended. Does nothing if `stream` is not the
  /// present stream, or after End.
  void NoteAlive(const Stream& stream);
  /// The stream has ended. Detaches the application, and then does what Advance does. Does nothing
  /// if `stream` is not the present stream.
  void Ended(const Stream& stream);

  // The server calls this.
  /// Acts on passed deadlines and on the end of the process: it makes the application absent, or
  /// cuts it off. Call it again at the returned time, after `wake`, and when the process ends.
  /// TimePoint::max(): no time is known. After End, does nothing. Any thread.
  TimePoint Advance();

  core::ApplicationState state() const override;
  /// The counts so far. `connections` and `denied` are 0 here; the server counts them.
  SidecarBounds bounds() const;
  /// The process of the application that is attached or detached; null: there is no application, or
  /// its death can't be proven.
  std::shared_ptr<const PeerProcess> peer() const;

 private:
  struct Acting {  ///< a leadership that the application acts on
    Term term;
    std::uint64_t operation = 0;  ///< the operation of the last ACQUIRED
    bool activated = false;
  };
  struct Pending {
    core::RunCallback callback;
    Done done;
  };
  /// The calls to make once the lock is released.
  struct Calls {
    std::shared_ptr<Stream> kick;
    std::shared_ptr<Stream> end;
    Refusal why;
    bool wake = false;
  };

  bool IsSame(const v1::AttachHello& hello, const PeerProcess* peer) const;
  void BeginStream(const v1::AttachHello& hello, std::shared_ptr<const PeerProcess> peer);
  void TellAgain();
  bool IsOvertaken(const core::RunCallback& callback) const;
  void Tell(const core::RunCallback& callback);
  void Push(v1::AttachEvent event, Calls& calls);
  void Await(const core::RunCallback& callback, Done done);
  void CompleteBefore(std::uint64_t operation, ShardId shard);
  void Complete(std::uint64_t operation);
  void Detach(Calls& calls);
  void BeAbsent(const std::string& why, Calls& calls);
  void CutOff(std::uint64_t& bound, const std::string& why, Calls& calls);
  void CheckProofAndTime(Calls& calls);
  TimePoint WakeAt() const;
  /// The deadline that the application may be sent now.
  TimePoint Allowed() const { return std::min(newest_, alive_until_); }
  void ProlongLife(Calls& calls);
  /// The level of the log record that says that the application left. To leave is normal for an
  /// application that leads nothing.
  LogLevel EndLevel() const { return acting_.empty() ? LogLevel::kInfo : LogLevel::kWarn; }
  void Change(core::ApplicationState state);
  void Make(const Calls& calls) const;

  const AttachmentOptions options_;
  const std::size_t most_waiting_;
  const Clock& clock_;
  const std::function<void()> wake_;

  mutable std::mutex mutex_;  // guards everything below
  std::function<void(core::ApplicationState)> changed_;
  std::function<void(const core::StandbyReadySaid&)> said_;
  core::ApplicationState state_ = core::ApplicationState::kAbsent;
  SidecarBounds bounds_;
  bool ended_ = false;
  int absences_unseen_ = 0;  ///< how many absences the node has not processed yet

  std::shared_ptr<Stream> stream_;  ///< null unless attached
  std::shared_ptr<const PeerProcess> peer_;
  std::string client_;
  std::string token_;
  std::optional<v1::AttachWelcome> welcome_;  ///< to be written
  std::deque<v1::AttachEvent> unsent_;
  bool deadline_unsent_ = false;
  TimePoint unsent_since_ = TimePoint::min();  ///< when a deadline began to wait, or the last Take

  std::map<ShardId, Acting> acting_;
  StandingBy standing_by_;
  std::map<std::uint64_t, Pending> pending_;  ///< by operation, in the order of Run
  /// pending operations that the end of their shard's leadership completes
  std::set<std::pair<ShardId, std::uint64_t>> ended_with_shard_;
  TimePoint newest_ = TimePoint::min();       ///< the deadline that the node allows
  TimePoint alive_until_ = TimePoint::max();  ///< see AttachmentOptions::watchdog
  TimePoint written_ = TimePoint::min();      ///< the deadline in the last message
  TimePoint told_ = TimePoint::min();  ///< the latest deadline that the application may have got
};

}  // namespace baton::sidecar
