// Writers of the key-value store, through baton::Router, and a ledger of every answer that they
// got, as JSON lines.
//
//   chaos_writer --routes 10.0.0.1:7400,10.0.0.2:7400 --clients 8 --rate 100 --history FILE
//
// Each client has keys of its own: counters that it alone adds to, one by one, and reads. Every
// request has an id by which the resource knows it again. SIGTERM ends it, once what is under way
// is answered.
#include <baton/router.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "flags.h"
#include "history.h"
#include "kv.grpc.pb.h"

namespace baton::chaos {
namespace {

namespace api = baton::examples::kv;

constexpr long kKeys = 6;       // counters of each client
constexpr long kReadEvery = 5;  // requests

/// Until when to wait, and whether all is over.
class Pause {
 public:
  /// False: it is over.
  bool Until(std::chrono::steady_clock::time_point due) {
    std::unique_lock lock(mutex_);
    return !changed_.wait_until(lock, due, [this] { return over_; });
  }
  void End() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;  // below
  std::condition_variable changed_;
  bool over_ = false;
};

class Client {
 public:
  Client(Router& router, const History& history, std::string name,
         std::chrono::milliseconds deadline)
      : router_(router), history_(history), name_(std::move(name)), deadline_(deadline) {}

  void Run(Pause& pause, std::chrono::nanoseconds interval) {
    auto due = std::chrono::steady_clock::now();
    for (long turn = 0; pause.Until(due); ++turn) {
      Request(turn);
      // What was due meanwhile is left out: a ledger needs no even load.
      due = std::max(due + interval, std::chrono::steady_clock::now());
    }
  }

 private:
  void Request(long turn) {
    const std::string key = name_ + "/" + std::to_string(turn / kReadEvery % kKeys);
    const std::string id = name_ + "-" + std::to_string(turn);
    const bool read = turn % kReadEvery == kReadEvery - 1;
    const std::int64_t begun = history_.Now();
    std::string value;
    const grpc::Status status = read ? Read(key, &value) : Add(key, id, &value);
    std::string line = "{\"t\":[" + std::to_string(begun) + "," + std::to_string(history_.Now()) +
                       "],\"id\":" + Quoted(id) + ",\"key\":" + Quoted(key) + ",\"op\":\"" +
                       (read ? "get" : "add") +
                       "\",\"code\":" + std::to_string(status.error_code());
    if (status.ok()) line += ",\"value\":" + value;
    if (!status.ok()) line += ",\"why\":" + Quoted(status.error_message());
    history_.Write(line + "}");
  }

  grpc::Status Add(const std::string& key, const std::string& id, std::string* value) {
    api::IncrementRequest request;
    request.set_key(key);
    request.set_by(1);
    api::IncrementResponse response;
    CallOptions options;
    options.deadline = deadline_;
    options.request_id = id;
    const grpc::Status status =
        router_.Call(key, &api::Kv::Stub::Increment, request, &response, options);
    *value = std::to_string(response.value());
    return status;
  }

  grpc::Status Read(const std::string& key, std::string* value) {
    api::GetRequest request;
    request.set_key(key);
    api::GetResponse response;
    CallOptions options;
    options.deadline = deadline_;
    const grpc::Status status = router_.Call(key, &api::Kv::Stub::Get, request, &response, options);
    *value = response.has_value() ? response.value() : "0";
    return status;
  }

  Router& router_;
  const History& history_;
  const std::string name_;
  const std::chrono::milliseconds deadline_;
};

int Run(const kv::Flags& flags) {
  const long clients = kv::NumberOf(flags, "clients", 1, 100);
  const long rate = kv::NumberOf(flags, "rate", 1, 100'000);
  const std::chrono::milliseconds deadline(kv::NumberOf(flags, "deadline-ms", 1, 600'000));
  const History history(flags.find("history")->second, 0);
  RouterOptions options;
  options.group = flags.find("group")->second;
  options.endpoints = kv::ListOf(flags, "routes");
  auto started = Router::Start(options);
  if (!started) kv::Fail(started.error().message);
  Router& router = *started.value();
  if (const Status ready = router.WaitReady(std::chrono::seconds(60)); !ready)
    kv::Fail(ready.error().message, 1);

  Pause pause;
  std::vector<std::thread> threads;
  for (long i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] {
      Client(router, history, "c" + std::to_string(i), deadline)
          .Run(pause, std::chrono::nanoseconds(1'000'000'000L * clients / rate));
    });
  }
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  int signal = 0;
  sigwait(&signals, &signal);
  pause.End();
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace baton::chaos

int main(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return baton::chaos::Run(kv::ParseFlags(argc, argv,
                                          {{"routes", "127.0.0.1:7400"},
                                           {"group", "kv"},
                                           {"clients", "8"},
                                           {"rate", "100"},
                                           {"deadline-ms", "3000"},
                                           {"history", "/dev/null"}}));
}
