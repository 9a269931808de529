#include "runtime/guard/own_guard.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <system_error>
#include <utility>

#include "base/subprocess.h"
#include "runtime/guard/hang_judge.h"

namespace baton::runtime {
namespace {

// After the guard ended: the pause before the next start, which doubles while it ends soon.
constexpr Duration kFirstPause = std::chrono::seconds(1);
constexpr Duration kLongestPause = std::chrono::minutes(1);
// How long a stopped node waits for the end of its guard.
constexpr Duration kWaitForEnd = std::chrono::seconds(1);

int MillisecondsOf(Duration duration) {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  return static_cast<int>(std::clamp<std::int64_t>(count, 0, 60'000));
}

}  // namespace

/// One run of the program: its process, and the pipe to its stdin.
class OwnGuard::Run {
 public:
  static Result<std::unique_ptr<Run>> Start(const std::string& program, std::string settings,
                                            int page) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      return Error{ErrorCode::kInternal, "no pipe for the guard"};
    }
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    // Before the start, so that a node that dies right after it has told its guard what to guard.
    WriteSome(ends[1], settings);
    auto process = Subprocess::Start({.arguments = {program, "--for-parent"},
                                      .inherits_output = true,
                                      .lifetime = ChildLifetime::kOutlivesOwner,
                                      .input = ends[0],
                                      .passed = page});
    close(ends[0]);
    if (!process) {
      close(ends[1]);
      return process.error();
    }
    return std::unique_ptr<Run>(new Run(std::move(process).value(), ends[1], std::move(settings)));
  }
  ~Run() {
    close(pipe_);
    if (handle_ >= 0) close(handle_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  std::optional<ExitStatus> Poll() { return process_->Poll(); }
  std::optional<ExitStatus> Wait(Duration bound) {
    return process_->Wait(Clock::Real().Now() + bound);
  }
  /// Replaces the lines that were not begun.
  void Write(const std::string& lines) {
    const std::size_t begun = unwritten_.find('\n');
    unwritten_.erase(begun == std::string::npos ? 0 : begun + 1);
    unwritten_ += lines;
  }

  /// Waits for the process's end, for `wake`, or for room in the pipe; then writes what it can.
  void WaitAndWrite(int wake) {
    std::array<pollfd, 3> waited{pollfd{wake, POLLIN, 0}, pollfd{handle_, POLLIN, 0},
                                 pollfd{unwritten_.empty() ? -1 : pipe_, POLLOUT, 0}};
    // Without a handle for the process, look now and then.
    poll(waited.data(), waited.size(), handle_ >= 0 ? -1 : 200);
    if (waited[2].revents != 0) WriteSome(pipe_, unwritten_);
  }

 private:
  /// Writes what the pipe takes at once.
  static void WriteSome(int pipe, std::string& unwritten) {
    const ssize_t written = write(pipe, unwritten.data(), unwritten.size());
    if (written > 0) unwritten.erase(0, static_cast<std::size_t>(written));
    if (written < 0 && errno != EAGAIN && errno != EINTR) unwritten.clear();
  }

  Run(std::unique_ptr<Subprocess> process, int pipe, std::string settings)
      : process_(std::move(process)),
        pipe_(pipe),
        handle_(static_cast<int>(syscall(SYS_pidfd_open, process_->pid(), 0))),
        unwritten_(std::move(settings)) {}

  const std::unique_ptr<Subprocess> process_;
  const int pipe_;
  const int handle_;  ///< a pidfd; -1: the kernel has none
  std::string unwritten_;
};

Result<std::unique_ptr<OwnGuard>> OwnGuard::Start(const std::string& program,
                                                  const GuardSettings& settings, NodeLog& log) {
  auto found = FindHelper(program);
  if (!found) return found.error();
  std::unique_ptr<ProgressPage> page;
  if (settings.hang_timeout.count() > 0) {
    auto created = ProgressPage::Create();
    if (!created) return created.error();
    page = std::move(created).value();
  }
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) return Error{ErrorCode::kInternal, "no descriptor for the guard"};
  std::unique_ptr<OwnGuard> guard(
      new OwnGuard(found.value(), settings, log, wake, std::move(page)));
  try {
    guard->thread_ = std::thread([raw = guard.get()] { raw->Watch(); });
  } catch (const std::system_error& error) {
    return Error{ErrorCode::kInternal, std::string("no thread for the guard: ") + error.what()};
  }
  return guard;
}

OwnGuard::OwnGuard(std::string program, GuardSettings settings, NodeLog& log, int wake,
                   std::unique_ptr<ProgressPage> page)
    : program_(std::move(program)),
      log_(log),
      wake_(wake),
      page_(std::move(page)),
      settings_(std::move(settings)),
      credentials_(CredentialsOf(settings_.etcd)) {}

OwnGuard::~OwnGuard() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  Wake();
  if (thread_.joinable()) thread_.join();
  close(wake_);
}

void OwnGuard::SetCredentials(const EtcdCredentials& credentials) {
  {
    const std::lock_guard lock(mutex_);
    if (!credentials_.Add(credentials)) return;
    changed_ = true;
  }
  Wake();
}

void OwnGuard::FollowProgress(Executor& loop) {
  if (page_ == nullptr) return;
  loop.Post([this, &loop] {
    page_->Note(std::chrono::steady_clock::now());
    loop.Schedule(kProgressEvery, [this, &loop] { FollowProgress(loop); });
  });
}

void OwnGuard::Wake() { eventfd_write(wake_, 1); }

std::string OwnGuard::Settings() {
  const std::lock_guard lock(mutex_);
  changed_ = false;
  std::string lines;
  GuardSettings settings = settings_;
  for (const EtcdCredentials& credentials : credentials_.all()) {
    settings.etcd = With(std::move(settings.etcd), credentials);
    lines += Format(settings);
  }
  return lines;
}

bool OwnGuard::Pause(Duration duration) {
  const TimePoint until = Clock::Real().Now() + duration;
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
    }
    const Duration left = until - Clock::Real().Now();
    if (left <= Duration::zero()) return true;
    pollfd waited{wake_, POLLIN, 0};
    poll(&waited, 1, MillisecondsOf(left));
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
  }
}

// The thread. SIGPIPE: writes to a guard that has ended must not end this process.
void OwnGuard::Watch() {
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  Duration pause = kFirstPause;
  do {
    const TimePoint began = Clock::Real().Now();
    auto run = Run::Start(program_, Settings(), page_ != nullptr ? page_->descriptor() : -1);
    if (!run) {
      log_.Warn("the guard can't be started: " + run.error().message);
    } else {
      ++starts_;
      running_ = true;
      WatchOne(*run.value());
      running_ = false;
    }
    if (Clock::Real().Now() - began > kLongestPause) pause = kFirstPause;
  } while (Pause(std::exchange(pause, std::min(2 * pause, kLongestPause))));
}

void OwnGuard::WatchOne(Run& run) {
  while (true) {
    run.WaitAndWrite(wake_);
    eventfd_t ignored = 0;
    eventfd_read(wake_, &ignored);
    if (const auto ended = run.Poll()) {
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      lock.unlock();
      log_.Warn("the guard ended, and is started again: " + ToString(*ended));
      return;
    }
    bool changed = false;
    {
      const std::lock_guard lock(mutex_);
      changed = changed_;
      if (stopping_) changed = false;
      if (stopping_) break;
    }
    if (changed) run.Write(Settings());
  }
  run.Wait(kWaitForEnd);
}

}  // namespace baton::runtime
