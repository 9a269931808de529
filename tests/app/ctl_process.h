// Runs a program to its end, at most a minute, and keeps its stdout, its stderr and its exit code.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

extern char** environ;

namespace baton::app {

struct Ran {
  int exit = -1;  ///< -1: killed by a signal, or not ended in time
  std::string out;
  std::string err;
};

struct RunOptions {
  std::vector<std::string> arguments;
  std::string input;  ///< its stdin, at most a pipe's capacity
  /// Called after each read, with all output so far and the process id.
  std::function<void(const Ran&, pid_t)> watch;
};

inline Ran RunProcess(const RunOptions& options) {
  int in[2], out[2], err[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    return {};
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err[1], STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : options.arguments) {
    argv.push_back(const_cast<char*>(argument.c_str()));
  }
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int spawned = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]), close(out[1]), close(err[1]);
  Ran ran;
  if (spawned == 0) {
    const auto written = write(in[1], options.input.data(), options.input.size());
    if (written < 0) ran.err += "(stdin was not read)";
  }
  close(in[1]);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  pollfd ends[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
  std::string* texts[2] = {&ran.out, &ran.err};
  while (spawned == 0 && (ends[0].fd >= 0 || ends[1].fd >= 0)) {
    if (std::chrono::steady_clock::now() > deadline) {
      kill(pid, SIGKILL);
      break;
    }
    poll(ends, 2, 100);
    for (int i = 0; i < 2; ++i) {
      if (ends[i].fd < 0 || ends[i].revents == 0) continue;
      char buffer[4096];
      const auto size = read(ends[i].fd, buffer, sizeof buffer);
      if (size <= 0) {
        ends[i].fd = -1;
        continue;
      }
      texts[i]->append(buffer, static_cast<std::size_t>(size));
      if (options.watch) options.watch(ran, pid);
    }
  }
  close(out[0]), close(err[0]);
  int status = 0;
  if (spawned == 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status)) {
    ran.exit = WEXITSTATUS(status);
  }
  return ran;
}

}  // namespace baton::app
