#include "app/guard/guard.h"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "app/common/service_manager.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "etcd/grpc/transport.h"
#include "runtime/guard/end_session.h"
#include "runtime/guard/guard_settings.h"
#include "runtime/guard/hang_judge.h"
#include "runtime/loop.h"
#include "runtime/node_options.h"

namespace baton::app {
namespace {

using runtime::Death;
using runtime::GuardSettings;

// After this long most leases have run out.
constexpr std::chrono::minutes kGiveUp{10};
// How long a guard that was asked to end (SIGTERM) still works for a node that is dead: mostly it
// needs milliseconds.
constexpr std::chrono::seconds kGraceAfterDeath{2};
constexpr std::chrono::milliseconds kLookAtSignals{100};
// After a failure, the pause before the next try; it doubles.
constexpr std::chrono::milliseconds kFirstRetry{200};
constexpr std::chrono::milliseconds kLongestRetry{60'000};

// A service manager asks all processes of a unit to end at once. While the node lives, its guard
// stays: the node still works for seconds, and may die without a farewell.
std::atomic<bool> asked_to_end{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // a signal's handler sets it
void NoteSignal(int) { asked_to_end = true; }

// How long a guard waits for the lock once its node is gone: the node's next process, or a forked
// child, has it then. Core dumps mostly take less.
constexpr std::chrono::seconds kWaitAfterNode{10};
// How often a shared guard reads the file of a node that is dead, or was never started.
constexpr std::chrono::milliseconds kPollInterval{200};

/// Half of the pause, and up to another half: the guards of a host that lost its etcd spread.
Duration Spread(Duration pause) {
  thread_local std::minstd_rand random(std::random_device{}());
  std::uniform_int_distribution<Duration::rep> more(0,
                                                    std::max<Duration::rep>(1, pause.count() / 2));
  return pause / 2 + Duration(more(random));
}

void Pause(std::chrono::milliseconds length) { poll(nullptr, 0, static_cast<int>(length.count())); }

EtcdCredentials CredentialsOf(const EtcdOptions& options) {
  return {.password = options.password,
          .ca_pem = options.ca_pem,
          .cert_pem = options.cert_pem,
          .key_pem = options.key_pem};
}

// Of two passwords the transport tries the later one first, but of two certificates it uses the
// first one until the later one has been accepted.
Result<std::unique_ptr<etcd::GrpcTransport>> Connect(const EtcdOptions& options,
                                                     const EtcdCredentials& earlier) {
  EtcdOptions first = options;
  EtcdCredentials then = earlier;
  std::swap(first.password, then.password);
  auto transport = etcd::GrpcTransport::Create(runtime::TransportOptionsOf(first));
  if (!transport) return transport;
  if (const Status set = transport.value()->SetCredentials(then); !set) return set.error();
  return transport;
}

/// Ends the sessions of a dead node, and waits for it. `earlier`: credentials that etcd may still
/// want instead of those in `options`. False: not all could be ended.
bool End(const Death& death, const EtcdOptions& options, const EtcdCredentials& earlier) {
  const TimePoint began = Clock::Real().Now();
  auto transport = Connect(options, earlier);
  if (!transport) {
    log::Error("guard: " + transport.error().message);
    return false;
  }
  struct Progress {
    std::mutex mutex;
    std::condition_variable changed;
    std::size_t left = 0;
    bool failed = false;
  } progress;
  progress.left = death.sessions.size();
  runtime::Loop loop;
  const auto ended = [&](SessionId session, const Result<runtime::SessionFound>& result) {
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(Clock::Real().Now() - began);
    if (!result) {
      log::Error(
          "guard: a dead node's session can't be ended, its lease has to run out",
          {{"node", death.node}, {"session", session.value}, {"error", result.error().message}});
    } else if (result.value() == runtime::SessionFound::kHeld) {
      log::Info("guard: the node's process died, and its session was ended",
                {{"group", death.group},
                 {"node", death.node},
                 {"session", session.value},
                 {"after_ms", took.count()}});
    } else {
      const bool gone = result.value() == runtime::SessionFound::kGone;
      log::Info(gone ? "guard: the node's process died, and its session had no member key any more"
                     : "guard: the node's process died, and its lease was revoked",
                {{"group", death.group},
                 {"node", death.node},
                 {"session", session.value},
                 {"prefix", options.prefix}});
    }
    const std::lock_guard lock(progress.mutex);
    progress.failed = progress.failed || !result;
    --progress.left;
    progress.changed.notify_all();
  };
  loop.Post([&] {
    for (const SessionId session : death.sessions) {
      runtime::DeadSession dead{.session = {death.node, session}};
      if (session == death.sessions.front()) dead.known_since = death.known_since;
      runtime::EndSession({*transport.value(), loop, Clock::Real(), Spread},
                          etcd::Keyspace(options.prefix, death.group), dead,
                          [&ended, session](const auto& result) { ended(session, result); });
    }
  });
  bool in_time = false;
  {
    std::unique_lock lock(progress.mutex);
    const auto done = [&] { return progress.left == 0; };
    const TimePoint grace_over = began + kGraceAfterDeath;
    while (!in_time && Clock::Real().Now() < began + kGiveUp) {
      if (asked_to_end && Clock::Real().Now() > grace_over) break;
      in_time = progress.changed.wait_for(lock, kLookAtSignals, done);
    }
  }
  loop.End();  // before the transport: its functions use it
  transport.value().reset();
  return in_time && !progress.failed;
}

/// The lines that a node writes to its guard.
class SettingLines {
 public:
  explicit SettingLines(int input) : input_(input) {}

  /// Waits for the next line. nullopt: there is none any more, or it is no such line.
  std::optional<GuardSettings> Next() {
    while (true) {
      const std::size_t end = text_.find('\n');
      if (end != std::string::npos) {
        auto parsed = runtime::ParseGuardSettings(text_.substr(0, end));
        text_.erase(0, end + 1);
        if (!parsed) log::Error("guard: " + parsed.error().message);
        return parsed ? std::optional(std::move(parsed).value()) : std::nullopt;
      }
      if (text_.size() > runtime::kMaxGuardSettings || !Read()) return std::nullopt;
    }
  }

 private:
  bool Read() {
    char bytes[4096];
    ssize_t size = 0;
    do {
      size = read(input_, bytes, sizeof bytes);
    } while (size < 0 && errno == EINTR);
    if (size > 0) text_.append(bytes, static_cast<std::size_t>(size));
    return size > 0;
  }

  const int input_;
  std::string text_;
};

/// Waits until this time.
void WaitUntil(runtime::SteadyTime time) {
  const auto left =
      std::max<Duration>(time - std::chrono::steady_clock::now(), Duration{0}).count();
  const timespec wait{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  ppoll(nullptr, 0, &wait, nullptr);
}

bool HasEnded(int process) {
  pollfd ended{process, POLLIN, 0};
  return poll(&ended, 1, 0) != 0;
}

/// Whether it dies and writes its core, which a second signal would cut short.
bool DumpsItsCore(std::int64_t id) {
  std::ifstream status("/proc/" + std::to_string(id) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CoreDumping:")) return line.find('1') != std::string::npos;
  }
  return false;
}

/// Kills the process once its loop makes no progress any more. The lock then proves its death.
void KillIfItHangs(const runtime::ProgressPage& page, std::chrono::milliseconds timeout,
                   int process, std::int64_t id) {
  runtime::HangJudge judge(timeout, std::chrono::steady_clock::now());
  while (true) {
    const auto verdict = judge.Look(std::chrono::steady_clock::now(), page.Last());
    if (verdict.hangs) break;
    WaitUntil(verdict.look_at);
  }
  if (HasEnded(process) || DumpsItsCore(id)) return;
  const bool killed = syscall(SYS_pidfd_send_signal, process, SIGKILL, nullptr, 0) == 0;
  log::Error(killed ? "guard: the node's process hangs, and was killed"
                    : "guard: the node's process hangs, and can't be killed",
             {{"no_progress_for_ms", timeout.count()}});
}

/// A handle of the parent; -1: it has ended, or the kernel has no such handles. An id alone may
/// become another process's.
int ParentHandle(std::int64_t parent) {
  if (getppid() != parent) return -1;
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(parent), 0));
  if (getppid() == parent) return handle;
  if (handle >= 0) close(handle);
  return -1;
}

void BeginToWatchForHangs(const GuardSettings& settings,
                          std::unique_ptr<runtime::ProgressPage> page) {
  if (settings.hang_timeout.count() == 0) return;
  const int process = ParentHandle(settings.process);
  if (page == nullptr || process < 0) {
    log::Warn("guard: it can't watch for a hang of the node");
    return;
  }
  std::thread([page = std::move(page), timeout = settings.hang_timeout, process,
               id = settings.process] {
    KillIfItHangs(*page, timeout, process, id);
  }).detach();
}

}  // namespace

int GuardParent(int input, std::unique_ptr<runtime::ProgressPage> page) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) std::signal(signal, NoteSignal);
  SettingLines lines(input);
  const std::optional<GuardSettings> first = lines.Next();
  if (!first) return EXIT_FAILURE;
  std::mutex mutex;
  EtcdOptions etcd = first->etcd;                 // guarded by mutex, as the next
  EtcdCredentials earlier = CredentialsOf(etcd);  // the node keeps them until etcd takes the newest
  BeginToWatchForHangs(*first, std::move(page));
  std::atomic<bool> has_lock{false};
  // Ends with the process: it may wait for a line for ever. There is no line any more once the node
  // is gone.
  std::thread([&lines, &mutex, &etcd, &earlier, &has_lock] {
    while (const auto next = lines.Next()) {
      const std::lock_guard lock(mutex);
      earlier = CredentialsOf(std::exchange(etcd, next->etcd));
    }
    Pause(kWaitAfterNode);
    if (!has_lock) _exit(EXIT_SUCCESS);
  }).detach();
  const auto death = runtime::AwaitDeath(first->state_dir, first->trust);
  has_lock = true;
  int code = EXIT_SUCCESS;
  if (!death) {
    // A node that had no session leaves nothing to say.
    if (death.error().code != ErrorCode::kNotFound) {
      log::Info("guard: nothing is ended: " + death.error().message);
    }
  } else if (death.value().group != first->group || death.value().node != first->node) {
    log::Error("guard: the state directory is another node's");
    code = EXIT_FAILURE;
  } else if (!death.value().sessions.empty()) {
    EtcdOptions newest;
    EtcdCredentials before;
    {
      const std::lock_guard lock(mutex);
      newest = etcd;
      before = earlier;
    }
    if (!End(death.value(), newest, before)) code = EXIT_FAILURE;
  }
  _exit(code);
}

namespace {

/// Counts itself for as long as it lives.
class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Counted() { --count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  std::atomic<int>& count_;
};

/// Guards one node for ever. `working` counts the guards that end a dead node's sessions now.
void GuardOne(const SharedGuard& guard, const std::string& directory, std::atomic<int>& working) {
  std::vector<SessionId> ended;
  std::string said;
  const auto say = [&said](const std::string& trouble) {
    if (std::exchange(said, trouble) != trouble) log::Warn("guard: " + trouble);
  };
  std::chrono::milliseconds retry = kFirstRetry;
  while (true) {
    const auto death = runtime::AwaitDeath(directory, guard.trust);
    if (!death) {
      if (death.error().code != ErrorCode::kNotFound) {
        say("nothing is ended: " + death.error().message);
      }
    } else if (death.value().sessions != ended) {
      const Counted works(working);
      const auto etcd = guard.etcd();
      if (!etcd) say(etcd.error().message);
      if (etcd && (death.value().sessions.empty() ||
                   End(death.value(), etcd.value(), CredentialsOf(etcd.value())))) {
        ended = death.value().sessions;
        said.clear();
        retry = kFirstRetry;
      } else {
        Pause(std::chrono::ceil<std::chrono::milliseconds>(
            Spread(std::exchange(retry, std::min(2 * retry, kLongestRetry)))));
      }
    }
    Pause(kPollInterval);
  }
}

}  // namespace

// The kernel drops SIGTERM to a container's first process unless somebody waits for it. A pod's
// containers are asked to end one after the other: a node may have died a moment before.
int GuardNodes(const SharedGuard& guard) {
  BATON_CHECK(!guard.state_dirs.empty() && guard.etcd);
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGTERM, SIGINT}) sigaddset(&ends, signal);
  sigprocmask(SIG_BLOCK, &ends, nullptr);  // in all threads, which begin after this
  std::atomic<int> working{0};
  // It is ready at once: a lock that is free before it looks tells of a death as well.
  ServiceManager::OfEnvironment().Say("READY=1");
  for (const std::string& directory : guard.state_dirs) {
    std::thread([&guard, &working, directory] { GuardOne(guard, directory, working); }).detach();
  }
  while (sigwaitinfo(&ends, nullptr) < 0) continue;  // a debugger, or SIGCONT
  asked_to_end = true;
  const TimePoint grace_over = Clock::Real().Now() + kGraceAfterDeath + kLookAtSignals;
  do {
    Pause(kLookAtSignals);
  } while (working != 0 && Clock::Real().Now() < grace_over);
  _exit(EXIT_SUCCESS);
}

}  // namespace baton::app
