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
#include <vector>

#include "app/common/service_manager.h"
#include "app/guard/end_pace.h"
#include "app/guard/end_sessions.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "runtime/guard/guard_settings.h"
#include "runtime/guard/hang_judge.h"
#include "runtime/guard/recent_credentials.h"

namespace baton::app {
namespace {

using runtime::Death;
using runtime::GuardSettings;

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
// How long a guard that has the lock waits until it has read all that its node wrote. The end of
// the input comes with the node's death, unless a forked child still has the pipe.
constexpr std::chrono::milliseconds kWaitForInput{200};
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

/// Ends the sessions with one of the credentials, of which the first are the newest. False: not all
/// could be ended.
bool End(const Death& death, const EtcdOptions& etcd, std::vector<EtcdCredentials> credentials) {
  return EndSessions(
      {.death = death, .etcd = etcd, .credentials = std::move(credentials), .jitter = Spread},
      asked_to_end);
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
  EtcdOptions etcd = first->etcd;  // guarded by mutex, as the next two
  runtime::RecentCredentials credentials(runtime::CredentialsOf(etcd));
  bool read_all = false;
  std::condition_variable has_read_all;
  BeginToWatchForHangs(*first, std::move(page));
  std::atomic<bool> has_lock{false};
  // Ends with the process: it may wait for a line for ever. There is no line any more once the node
  // is gone.
  std::thread([&] {
    while (const auto next = lines.Next()) {
      const std::lock_guard lock(mutex);
      etcd = next->etcd;
      credentials.Add(runtime::CredentialsOf(etcd));
    }
    {
      const std::lock_guard lock(mutex);
      read_all = true;
    }
    has_read_all.notify_one();
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
    std::vector<EtcdCredentials> all;
    {
      // If the lock was free at once, the other thread has hardly begun, and the first line has the
      // oldest credentials.
      std::unique_lock lock(mutex);
      has_read_all.wait_for(lock, kWaitForInput, [&] { return read_all; });
      newest = etcd;
      all = credentials.Combinations();
    }
    if (!End(death.value(), newest, std::move(all))) code = EXIT_FAILURE;
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

/// Waits as long as the pace asks for, and notes that the guard acts then.
void AwaitTurn(EndPace& pace) {
  while (true) {
    const TimePoint now = Clock::Real().Now();
    const Duration wait = pace.Wait(now);
    if (wait == Duration{0}) return pace.Begin(now);
    Pause(std::chrono::ceil<std::chrono::milliseconds>(wait));
  }
}

/// Guards one node for ever. `working` counts the guards that end a dead node's sessions now.
void GuardOne(const SharedGuard& guard, const std::string& directory, std::atomic<int>& working) {
  std::vector<SessionId> ended;
  std::string said;
  const auto say = [&said](const std::string& trouble) {
    if (std::exchange(said, trouble) != trouble) log::Warn("guard: " + trouble);
  };
  std::chrono::milliseconds retry = kFirstRetry;
  EndPace pace;
  while (true) {
    const auto death = runtime::AwaitDeath(directory, guard.trust);
    if (!death) {
      if (death.error().code != ErrorCode::kNotFound) {
        say("nothing is ended: " + death.error().message);
      }
    } else if (death.value().sessions != ended) {
      AwaitTurn(pace);
      const Counted works(working);
      const auto etcd = guard.etcd();
      if (!etcd) say(etcd.error().message);
      if (etcd && (death.value().sessions.empty() ||
                   End(death.value(), etcd.value(), {runtime::CredentialsOf(etcd.value())}))) {
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
