#include "app/guard/end_sessions.h"

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "etcd/grpc/transport.h"
#include "runtime/guard/end_session.h"
#include "runtime/guard/recent_credentials.h"
#include "runtime/loop.h"
#include "runtime/node_options.h"

namespace baton::app {
namespace {

using runtime::SessionFound;

// After this long most leases have run out.
constexpr std::chrono::minutes kGiveUp{10};
// Before credentials that etcd denied something are tried once more.
constexpr std::chrono::milliseconds kOnceMore{200};

enum class Attempt { kFirst, kLast };

class SessionsEnding {
 public:
  explicit SessionsEnding(const SessionsToEnd& work)
      : work_(work),
        began_(Clock::Real().Now()),
        transports_(work.credentials.size()),
        sessions_(work.death.sessions.size()),
        left_(sessions_.size()) {}
  ~SessionsEnding() {
    loop_.End();  // before the transports: its functions use them
    transports_.clear();
  }
  SessionsEnding(const SessionsEnding&) = delete;
  SessionsEnding& operator=(const SessionsEnding&) = delete;

  bool Run(const std::atomic<bool>& asked_to_end) {
    loop_.Post([this] { Begin(0); });
    const TimePoint grace_over = began_ + kGraceAfterDeath;
    std::unique_lock lock(mutex_);
    while (left_ > 0 && Clock::Real().Now() < began_ + kGiveUp) {
      if (asked_to_end && Clock::Real().Now() > grace_over) break;
      changed_.wait_for(lock, kLookAtSignals);
    }
    return left_ == 0 && !failed_;
  }

 private:
  struct Session {
    std::size_t failures = 0;  ///< credentials with which it can't be ended
    std::optional<Error> error = std::nullopt;
    bool over = false;
  };

  // `which`: the index of the credentials. This and the functions below run on the loop.
  void Begin(std::size_t which) {
    auto options = runtime::TransportOptionsOf(runtime::With(work_.etcd, work_.credentials[which]));
    if (which == 0) {
      options.on_call = [this](std::string_view, int code, std::chrono::nanoseconds) {
        if (code != 0) loop_.Post([this] { BeginOthers(); });
      };
    }
    auto transport = etcd::GrpcTransport::Create(std::move(options));
    if (transport) transports_[which] = std::move(transport).value();
    for (std::size_t session = 0; session < sessions_.size(); ++session) {
      if (transport) {
        End(which, session, Attempt::kFirst);
      } else {
        Failed(which, session, transport.error());
      }
    }
  }

  void BeginOthers() {
    if (std::exchange(others_begun_, true)) return;
    for (std::size_t which = 1; which < transports_.size(); ++which) Begin(which);
  }

  void End(std::size_t which, std::size_t session, Attempt attempt) {
    if (sessions_[session].over) return;
    runtime::DeadSession dead{.session = {work_.death.node, work_.death.sessions[session]}};
    if (session == 0) dead.known_since = work_.death.known_since;
    runtime::EndSession({*transports_[which], loop_, Clock::Real(), work_.jitter},
                        etcd::Keyspace(work_.etcd.prefix, work_.death.group), dead,
                        [this, which, session, attempt](const Result<SessionFound>& result) {
                          Ended({which, session, attempt}, result);
                        });
  }

  struct Tried {
    std::size_t which;
    std::size_t session;
    Attempt attempt;
  };
  void Ended(const Tried& tried, const Result<SessionFound>& result) {
    if (result) return Finish(tried.session, result);
    if (transports_.size() == 1 || tried.attempt == Attempt::kLast) {
      return Failed(tried.which, tried.session, result.error());
    }
    BeginOthers();
    loop_.Schedule(kOnceMore, [this, tried] { End(tried.which, tried.session, Attempt::kLast); });
  }

  void Failed(std::size_t which, std::size_t session, const Error& error) {
    BeginOthers();
    Session& failed = sessions_[session];
    if (which == 0 || !failed.error) failed.error = error;
    if (++failed.failures == transports_.size()) Finish(session, *failed.error);
  }

  void Finish(std::size_t session, const Result<SessionFound>& result) {
    if (std::exchange(sessions_[session].over, true)) return;
    Say(work_.death.sessions[session], result);
    const std::lock_guard lock(mutex_);
    failed_ = failed_ || !result;
    --left_;
    changed_.notify_all();
  }

  void Say(SessionId session, const Result<SessionFound>& result) const {
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::Real().Now() - began_);
    if (!result) {
      log::Error("guard: a dead node's session can't be ended, its lease has to run out",
                 {{"node", work_.death.node},
                  {"session", session.value},
                  {"error", result.error().message}});
    } else if (result.value() == SessionFound::kHeld) {
      log::Info("guard: the node's process died, and its session was ended",
                {{"group", work_.death.group},
                 {"node", work_.death.node},
                 {"session", session.value},
                 {"after_ms", took.count()}});
    } else {
      const bool gone = result.value() == SessionFound::kGone;
      log::Info(gone ? "guard: the node's process died, and its session had no member key any more"
                     : "guard: the node's process died, and its lease was revoked",
                {{"group", work_.death.group},
                 {"node", work_.death.node},
                 {"session", session.value},
                 {"prefix", work_.etcd.prefix}});
    }
  }

  const SessionsToEnd& work_;
  const TimePoint began_;
  runtime::Loop loop_;
  // The loop's, while it runs. Of each of the credentials; null: not begun, or can't be used.
  std::vector<std::unique_ptr<etcd::GrpcTransport>> transports_;
  std::vector<Session> sessions_;  // the loop's
  bool others_begun_ = false;      // the loop's
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t left_;     // mutex_
  bool failed_ = false;  // mutex_
};

}  // namespace

bool EndSessions(const SessionsToEnd& work, const std::atomic<bool>& asked_to_end) {
  BATON_CHECK(!work.credentials.empty());
  return SessionsEnding(work).Run(asked_to_end);
}

}  // namespace baton::app
