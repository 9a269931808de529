// Attachment: an application in another process, as the node sees it. It keeps what the application
// was sent, which answers are missing, until when the application may act, and whether it is still
// there.
//
//   absent ──Attach──▶ attached ──stream ends──▶ detached ──the last sent deadline passes──▶ absent
//                         ▲                         │
//                         └──Attach: the same one───┘          proof of death: absent, at once
//
// The rules:
//   - A deadline counts as sent once Take has returned it, whether or not it arrives.
//   - The end of a stream is no proof of death: what was sent holds until the last sent deadline.
//     Until then no later deadline is sent, and nothing is given away.
//   - If the same application attaches again, it gets once more what holds and what it has not
//     answered, with the same operation numbers. It is the same application if it has the token
//     and, if its process is known, is that process. If its earlier stream is still there, that one
//     is ended. Another application may attach only when the earlier one is absent.
//   - A later deadline waits until everything before it was sent. An earlier deadline is sent at
//     once.
//   - What the node asked for before it knew of an absence never reaches the next application.
//   - With a watchdog no deadline is later than the last sign of life plus the watchdog's time.
//     Once that time has passed, the application acts on nothing, and is absent. It attaches again
//     only with a sign of life in its hello.
//
// Thread-safe. It calls streams and `wake` without its lock held, so they may call back. It calls
// the node's completions and `changed` with the lock held: they must not wait, nor call back.
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
#include <utility>

#include "base/clock.h"
#include "baton/types.h"
#include "baton/v1/sidecar.pb.h"
#include "runtime/application.h"
#include "sidecar/peer_process.h"

namespace baton::sidecar {

/// Why a stream is ended or refused, with one line for the client.
struct Refusal {
  enum class Kind : std::uint8_t {
    kMalformed,    ///< the client breaks the protocol
    kOtherGroup,   ///< it wants another group
    kTaken,        ///< another stream or application is attached
    kUnavailable,  ///< not now: try again later
    kExhausted,    ///< it does not read or answer: it may attach again
    kDenied        ///< its caller lacks the role
  };
  Kind kind = Kind::kUnavailable;
  std::string message;
};

/// The stream of an application. Callers share its ownership.
class Stream {
 public:
  virtual ~Stream() = default;
  /// There may be something to Take.
  virtual void Kick() = 0;
  /// Writes what can still be taken, then ends the stream. It need not call Ended.
  virtual void End(Refusal why) = 0;
};

/// How often each of the sidecar's limits was reached.
struct SidecarBounds {
  std::uint64_t connections = 0;  ///< closed because there were too many (see Server)
  std::uint64_t denied = 0;       ///< connections of users who may not attach
  std::uint64_t unread = 0;       ///< applications cut off: too many events waited for them
  std::uint64_t unanswered = 0;   ///< applications cut off: too many answers were missing
  std::uint64_t slow_reader = 0;  ///< applications cut off: they took no deadline for too long
  std::uint64_t silent = 0;       ///< applications given up: no sign of life within the watchdog
};

struct AttachmentOptions {
  std::string group;
  NodeId node;
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  /// The greatest number of events that wait to be written, and of missing answers. Beyond either,
  /// the application is cut off. 0: 8 for each shard plus 1,000.
  std::size_t most_waiting = 0;
  /// An application that takes no deadline for this long, and whose last one has passed, counts as
  /// not reading. Use a third of the TTL, at least 1 s.
  Duration patience = std::chrono::seconds(1);
  /// How long an application may give no sign of life; 0: for ever.
  Duration watchdog{0};
};

class Attachment final : public runtime::Application {
 public:
  /// REQUIRES: `clock` outlives it. `wake` says that Advance should be called soon. It is called on
  /// any thread, without the lock held, also within a call.
  Attachment(AttachmentOptions options, const Clock& clock, std::function<void()> wake);

  // The node calls these on its loop.
  void Begin(std::function<void(core::ApplicationState)> changed) override;
  void Run(const core::RunCallback& callback, std::function<void(bool ok)> done) override;
  void OnNotLed(ShardId shard) override;
  void OnDeadline(TimePoint deadline) override;
  void OnChanged(core::ApplicationState state) override;
  void End() override;

  // Streams call these.
  /// An application wants to attach on `stream`. Returns why it may not, or nothing. `peer`: the
  /// connected process, if its death can be proven; else null. The proof counts only if `hello`
  /// names the same process.
  std::optional<Refusal> Attach(const std::shared_ptr<Stream>& stream, const v1::AttachHello& hello,
                                std::shared_ptr<const PeerProcess> peer);
  /// Returns the next message to write, if any. The deadline in it counts as sent from now on.
  std::optional<v1::AttachResponse> Take(const Stream& stream);
  /// The application has answered this operation. Ignored if the stream is not the present one, or
  /// no such answer is missing.
  void Answer(const Stream& stream, std::uint64_t operation, bool ok);
  /// The application is alive. Ignored if the stream is not the present one.
  void NoteAlive(const Stream& stream);
  /// The stream has ended. Ignored if it is not the present one.
  void Ended(const Stream& stream);

  // The server calls this.
  /// Checks the clock and the process. Returns when to call it again at the latest;
  /// TimePoint::max(): only after `wake`, or when the process ends. Any thread.
  TimePoint Advance();

  core::ApplicationState state() const override;
  /// Since the start. It leaves out connections and denied, which the server counts.
  SidecarBounds bounds() const;
  /// The process of the application that is attached or may still act; null: there is none, or its
  /// death can't be proven.
  std::shared_ptr<const PeerProcess> peer() const;

 private:
  struct Acting {  ///< a leadership that the application acts on
    Term term;
    std::uint64_t operation = 0;  ///< of the last ACQUIRED
    bool activated = false;
  };
  struct Pending {
    core::RunCallback callback;
    std::function<void(bool ok)> done;
  };
  /// The calls to make once the lock is released.
  struct Calls {
    std::shared_ptr<Stream> kick;
    std::shared_ptr<Stream> end;
    Refusal why;
    bool wake = false;
  };

  std::optional<Refusal> CheckHello(const v1::AttachHello& hello) const;
  bool IsSame(const v1::AttachHello& hello, const PeerProcess* peer) const;
  void BeginStream(const v1::AttachHello& hello, std::shared_ptr<const PeerProcess> peer);
  void TellAgain();
  void Tell(const core::RunCallback& callback);
  void Push(v1::AttachEvent event, Calls& calls);
  void Await(const core::RunCallback& callback, std::function<void(bool ok)> done);
  void CompleteBefore(std::uint64_t operation, ShardId shard);
  void Detach(Calls& calls);
  void BeAbsent(const std::string& why, Calls& calls);
  void CutOff(std::uint64_t& bound, const std::string& why, Calls& calls);
  void CheckProofAndTime(Calls& calls);
  TimePoint WakeAt() const;
  /// The deadline that the application may be sent now.
  TimePoint Allowed() const { return std::min(newest_, alive_until_); }
  void ProlongLife(Calls& calls);
  void Change(core::ApplicationState state);
  void Make(const Calls& calls) const;

  const AttachmentOptions options_;
  const std::size_t most_waiting_;
  const Clock& clock_;
  const std::function<void()> wake_;

  mutable std::mutex mutex_;  // guards everything below
  std::function<void(core::ApplicationState)> changed_;
  core::ApplicationState state_ = core::ApplicationState::kAbsent;
  SidecarBounds bounds_;
  bool ended_ = false;
  int absences_unseen_ = 0;  ///< that the node has not processed yet

  std::shared_ptr<Stream> stream_;  ///< null unless attached
  std::shared_ptr<const PeerProcess> peer_;
  std::string client_;
  std::string token_;
  std::optional<v1::AttachWelcome> welcome_;  ///< to be written
  std::deque<v1::AttachEvent> unsent_;
  bool deadline_unsent_ = false;
  TimePoint unsent_since_ = TimePoint::min();  ///< and since then nothing was taken

  std::map<ShardId, Acting> acting_;
  std::map<std::uint64_t, Pending> pending_;  ///< by operation, in the order of Run
  /// pending operations that the end of their shard's leadership completes
  std::set<std::pair<ShardId, std::uint64_t>> ended_with_shard_;
  TimePoint newest_ = TimePoint::min();       ///< the deadline that the node allows
  TimePoint alive_until_ = TimePoint::max();  ///< see AttachmentOptions::watchdog
  TimePoint written_ = TimePoint::min();      ///< the deadline in the last message
  TimePoint told_ = TimePoint::min();  ///< the latest deadline that the application may have got
};

}  // namespace baton::sidecar
