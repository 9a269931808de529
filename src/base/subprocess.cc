#include "base/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/check.h"

namespace baton {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(1);
constexpr Duration kLongestPause = std::chrono::milliseconds(20);
constexpr Duration kStandsStill = std::chrono::seconds(60);

// The arguments of posix_spawn; the destructor frees them.
class SpawnPlan {
 public:
  SpawnPlan() {
    BATON_CHECK(posix_spawn_file_actions_init(&actions_) == 0);
    BATON_CHECK(posix_spawnattr_init(&attributes_) == 0);
  }
  ~SpawnPlan() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void UseCleanSignalsAndOwnGroup(ChildLifetime lifetime) {
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setpgroup(&attributes_, 0);
    // The leader of a session also has a process group of its own.
    const int apart =
        lifetime == ChildLifetime::kOutlivesOwner ? POSIX_SPAWN_SETSID : POSIX_SPAWN_SETPGROUP;
    posix_spawnattr_setflags(
        &attributes_, static_cast<short>(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | apart));
  }
  void GiveInput(int input) {
    if (input < 0) {
      posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions_, input, STDIN_FILENO);
    }
  }
  /// After the others: their sources may have this number.
  void Pass(int descriptor) {
    if (descriptor >= 0) {
      posix_spawn_file_actions_adddup2(&actions_, descriptor, STDERR_FILENO + 1);
    }
  }
  void SendOutputTo(const std::string& path) {
    const char* file = path.empty() ? "/dev/null" : path.c_str();
    posix_spawn_file_actions_addopen(&actions_, STDOUT_FILENO, file, O_WRONLY | O_CREAT | O_APPEND,
                                     0644);
    posix_spawn_file_actions_adddup2(&actions_, STDOUT_FILENO, STDERR_FILENO);
  }

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

std::string_view NameOf(std::string_view assignment) {
  return assignment.substr(0, assignment.find('='));
}

std::vector<std::string> MergedEnvironment(const std::vector<std::string>& changes) {
  std::vector<std::string> merged = changes;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view name = NameOf(*entry);
    const bool replaced = std::any_of(changes.begin(), changes.end(), [name](const auto& change) {
      return NameOf(change) == name;
    });
    if (!replaced) merged.emplace_back(*entry);
  }
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (std::string& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

enum class Folders { kAll, kAbsolute };  ///< of PATH

Result<std::string> Find(const std::string& name, Folders folders) {
  const auto executable = [](const std::string& path) {
    std::error_code error;
    return std::filesystem::is_regular_file(path, error) && access(path.c_str(), X_OK) == 0;
  };
  const Error missing{ErrorCode::kNotFound,
                      "no program '" + name + "' on PATH" +
                          (folders == Folders::kAbsolute ? " (its absolute folders)" : "") +
                          ": install it or give its path"};
  if (name.find('/') != std::string::npos) {
    if (executable(name)) return name;
    return Error{ErrorCode::kNotFound, "'" + name + "' is no program that can be run"};
  }
  const char* variable = std::getenv("PATH");
  std::string_view rest = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  while (!rest.empty()) {
    const std::string folder(rest.substr(0, rest.find(':')));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    if (folders == Folders::kAbsolute && !folder.starts_with('/')) continue;
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (executable(path)) return path;
  }
  return missing;
}

// The program and its arguments; behind setpriv if the kernel is to end the child.
Result<std::vector<std::string>> CommandLine(const SubprocessOptions& options) {
  auto program = FindProgram(options.arguments.front());
  if (!program) return program.error();
  std::vector<std::string> command = options.arguments;
  command.front() = program.value();
  if (options.lifetime != ChildLifetime::kDiesWithStartingThread) return command;
  const auto setpriv = FindHelper("setpriv");
  if (!setpriv) return command;
  command.insert(command.begin(), {setpriv.value(), "--pdeathsig", "KILL"});
  return command;
}

ExitStatus FromWaitStatus(int status) {
  if (WIFSIGNALED(status)) return ExitStatus{.code = 0, .signal = WTERMSIG(status)};
  return ExitStatus{.code = WEXITSTATUS(status), .signal = 0};
}

void Pause(Duration duration) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(duration).count();
  poll(nullptr, 0, static_cast<int>(milliseconds));
}

}  // namespace

std::string ToString(const ExitStatus& status) {
  return status.signal != 0 ? "signal " + std::to_string(status.signal)
                            : "exit code " + std::to_string(status.code);
}

Result<std::string> FindProgram(const std::string& name) { return Find(name, Folders::kAll); }
Result<std::string> FindHelper(const std::string& name) { return Find(name, Folders::kAbsolute); }

Result<std::unique_ptr<Subprocess>> Subprocess::Start(const SubprocessOptions& options) {
  BATON_CHECK(!options.arguments.empty());
  auto command = CommandLine(options);
  if (!command) return command.error();
  std::vector<std::string> environment = MergedEnvironment(options.environment);
  SpawnPlan plan;
  plan.UseCleanSignalsAndOwnGroup(options.lifetime);
  plan.GiveInput(options.input);
  if (!options.inherits_output) plan.SendOutputTo(options.output_path);
  plan.Pass(options.passed);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, command.value().front().c_str(), plan.actions(), plan.attributes(),
                  Pointers(command.value()).data(), Pointers(environment).data());
  if (error != 0) {
    return Error{ErrorCode::kInternal,
                 "cannot start " + options.arguments.front() + ": " + std::strerror(error)};
  }
  const bool released = options.lifetime == ChildLifetime::kOutlivesOwner;
  return std::unique_ptr<Subprocess>(new Subprocess(pid, released));
}

Subprocess::~Subprocess() {
  if (!released_) Kill();
}

void Subprocess::Signal(int signal) {
  if (!status_) kill(pid_, signal);
}

bool Subprocess::Freeze() {
  Signal(SIGSTOP);
  const TimePoint deadline = BootClock::now() + kStandsStill;
  while (!status_ && BootClock::now() < deadline) {
    siginfo_t info{};
    const int found = waitid(P_PID, static_cast<id_t>(pid_), &info,
                             WSTOPPED | WEXITED | WNOHANG | WNOWAIT);  // left for Poll()
    if (found != 0 || info.si_pid == pid_) return true;
    Pause(kFirstPause);
  }
  return status_.has_value();
}

std::optional<ExitStatus> Subprocess::Poll() {
  if (status_) return status_;
  int status = 0;
  const pid_t reaped = waitpid(pid_, &status, WNOHANG);
  // ECHILD: other code reaped it, against the contract. Another process may have its id by now, so
  // it counts as ended.
  if (reaped < 0 && errno == ECHILD) status_ = ExitStatus{.code = -1, .signal = 0};
  if (reaped == pid_) status_ = FromWaitStatus(status);
  return status_;
}

std::optional<ExitStatus> Subprocess::Wait(TimePoint deadline) {
  for (Duration pause = kFirstPause; !Poll(); pause = std::min(pause * 2, kLongestPause)) {
    const Duration left = deadline - BootClock::now();
    if (left <= Duration::zero()) return std::nullopt;
    Pause(std::min(pause, left));
  }
  return status_;
}

ExitStatus Subprocess::Kill() {
  Signal(SIGKILL);
  return *Wait(TimePoint::max());
}

Result<ExitStatus> RunProgram(const SubprocessOptions& options, TimePoint deadline) {
  auto process = Subprocess::Start(options);
  if (!process) return process.error();
  if (const auto status = process.value()->Wait(deadline)) return *status;
  return Error{ErrorCode::kTimedOut,
               options.arguments.front() + " did not end in time and was killed"};
}

}  // namespace baton
