// Attachment: the application of another process, as the node sees it: what it was told, what it
// has not answered, until when it may act, and whether it still can.
//
//   absent ──Attach──▶ attached ──stream ends──▶ detached ──the last deadline told passes──▶ absent
//                         ▲                         │
//                         └──Attach: the same one───┘          proof of death: absent, at once
//
// The rules it keeps:
//  - A deadline counts as told once it was taken to be written, whether or not it arrived.
//  - A stream that ends is no death: what was told holds until its deadline; no new one is told,
//    and nothing is given away.
//  - What was not answered and still holds is told again, with the same number, to the same
//    application: the one that has the token and, where the process is known, is that process.
//    Another one comes in only when that is absent.
//  - A later deadline is told behind all that was to be told before it; an earlier one at once.
//  - What the node asked for before it knew of an absence never reaches the next application.
//
// Thread-safe. Streams are called without its lock held, and may call back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/clock.h"
#include "baton/types.h"
#include "baton/v1/sidecar.pb.h"
#include "runtime/application.h"
#include "sidecar/peer_process.h"

namespace baton::sidecar {

/// Why a stream is ended, or not begun: one line for the client.
struct Refusal {
  enum class Kind : std::uint8_t { kMalformed, kOtherGroup, kTaken, kUnavailable, kExhausted };
  Kind kind = Kind::kUnavailable;
  std::string message;
};

/// The stream of an application; kept alive by whoever calls it.
class Stream {
 public:
  virtual ~Stream() = default;
  /// There may be something to Take.
  virtual void Kick() = 0;
  /// What can still be taken is written, then the stream ends. Ended need not be called.
  virtual void End(Refusal why) = 0;
};

/// How often each of the sidecar's bounds was reached.
struct SidecarBounds {
  std::uint64_t connections = 0;  ///< closed beyond kMostConnections (see Server)
  std::uint64_t unread = 0;       ///< applications cut off: too many events waited for them
  std::uint64_t unanswered = 0;   ///< applications cut off: too many answers were missing
  std::uint64_t slow_reader = 0;  ///< applications cut off: took no deadline for too long
};

struct AttachmentOptions {
  std::string group;
  NodeId node;
  std::uint32_t shards = 0;
  HashFunction hash = HashFunction::kMurmur2;
  /// Events that wait to be written, and answers that are missing: beyond either the application is
  /// cut off. 0: 8 a shard, and 1,000.
  std::size_t most_waiting = 0;
  /// An application that takes no deadline for so long, past the last one it was told, does not
  /// read. At least 1 s; a third of the TTL is meant.
  Duration patience = std::chrono::seconds(1);
};

class Attachment final : public runtime::Application {
 public:
  /// `clock` outlives it. `wake`: Advance should be called; it may be called at once, on any thread
  /// but not with the lock held.
  Attachment(AttachmentOptions options, const Clock& clock, std::function<void()> wake);

  // The node's side, on its loop.
  void Begin(std::function<void(core::ApplicationState)> changed) override;
  void Run(const core::RunCallback& callback, std::function<void(bool ok)> done) override;
  void OnNotLed(ShardId shard) override;
  void OnDeadline(TimePoint deadline) override;
  void OnChanged(core::ApplicationState state) override;
  void End() override;

  // The streams' side.
  /// `peer`: the process at the other end, where its death can be proven; else null. It proves
  /// something only where `hello` names the very same process.
  std::optional<Refusal> Attach(const std::shared_ptr<Stream>& stream, const v1::AttachHello& hello,
                                std::shared_ptr<const PeerProcess> peer);
  /// The next message to write, if there is one. The deadline in it is told from now on.
  std::optional<v1::AttachResponse> Take(const Stream& stream);
  void Answer(const Stream& stream, std::uint64_t operation, bool ok);
  /// The stream has ended by itself. Nothing happens where it is not the present one.
  void Ended(const Stream& stream);

  // Time and proof.
  /// Looks at the clock and at the peer's process. Returns when to be called again.
  TimePoint Advance();

  core::ApplicationState state() const override;
  /// Since the start; without connections, which the server counts.
  SidecarBounds bounds() const;
  /// Of the application that is attached or may act; null: none, or not provable.
  std::shared_ptr<const PeerProcess> peer() const;

 private:
  struct Acting {  ///< what the application may act on
    Term term;
    std::uint64_t operation = 0;  ///< of the last ACQUIRED
    bool activated = false;
  };
  struct Pending {
    core::RunCallback callback;
    std::function<void(bool ok)> done;
  };
  /// Whom to call once the lock is released.
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
  void CompleteBefore(std::uint64_t operation, ShardId shard);
  void Detach(Calls& calls);
  void BeAbsent(const std::string& why, Calls& calls);
  void CutOff(std::uint64_t& bound, const std::string& why, Calls& calls);
  void CheckProofAndTime(Calls& calls);
  TimePoint WakeAt() const;
  void Change(core::ApplicationState state);
  void Make(const Calls& calls) const;

  const AttachmentOptions options_;
  const std::size_t most_waiting_;
  const Clock& clock_;
  const std::function<void()> wake_;

  mutable std::mutex mutex_;  // guards all below
  std::function<void(core::ApplicationState)> changed_;
  core::ApplicationState state_ = core::ApplicationState::kAbsent;
  SidecarBounds bounds_;
  bool ended_ = false;
  int absences_unseen_ = 0;  ///< by the node: until then it speaks to an application that is gone

  std::shared_ptr<Stream> stream_;  ///< while attached
  std::shared_ptr<const PeerProcess> peer_;
  std::string client_;
  std::string token_;
  std::optional<v1::AttachWelcome> welcome_;  ///< not written yet
  std::deque<v1::AttachEvent> unsent_;
  bool deadline_unsent_ = false;
  TimePoint unsent_since_ = TimePoint::min();  ///< it waits, and nothing was taken

  std::map<ShardId, Acting> acting_;
  std::map<std::uint64_t, Pending> pending_;  ///< by operation: in the order they were asked for
  TimePoint newest_ = TimePoint::min();       ///< what the node allows
  TimePoint written_ = TimePoint::min();      ///< in the last message
  TimePoint told_ = TimePoint::min();         ///< the latest that the application may believe in
};

}  // namespace baton::sidecar
