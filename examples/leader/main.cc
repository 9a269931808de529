// Plain leader election: a group of one shard. Start it on several machines; one of them leads.
//
//   leader n1 & leader n2 &
//
// The arguments: the node's name, and etcd's address (127.0.0.1:2379 if absent). SIGTERM or Ctrl-C
// hands the leadership over, then ends the program.
#include <baton/node.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <chrono>
#include <iostream>

// The job that only one process may do. What it writes elsewhere carries the term.
void DoTheJob(baton::Term term) { std::cout << "leading, term " << term.value << std::endl; }

int main(int argc, char** argv) {
  // Signals are blocked before any thread starts, so that only sigtimedwait below takes them.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const std::string name = argc > 1 ? argv[1] : "n1";
  const std::string etcd = argc > 2 ? argv[2] : "127.0.0.1:2379";
  // [start]
  auto node = baton::Node::Start(
      {.group = "nightly-job", .shards = 1, .node = name, .etcd = {.endpoints = {etcd}}});
  // [/start]
  if (!node) {
    std::cerr << node.error().message << "\n";
    return 1;
  }
  const timespec second{1, 0};
  while (sigtimedwait(&signals, nullptr, &second) < 0) {
    // [lead]
    const baton::Leadership mine = node.value()->Leadership(baton::ShardId{0});
    if (mine.leads) DoTheJob(mine.term);
    // [/lead]
    // A halted node never leads again, for example because the group has another shard count.
    const baton::Status ready = node.value()->WaitReady(std::chrono::milliseconds(0));
    if (!ready && ready.error().code == baton::ErrorCode::kFailedPrecondition) {
      std::cerr << ready.error().message << "\n";
      return 1;
    }
  }
  const baton::Status drained = node.value()->Drain();
  if (!drained) std::cerr << drained.error().message << "\n";
  return drained ? 0 : 1;
}
