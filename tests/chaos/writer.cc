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
constexpr std::size_t kInsistersKeys = 48;

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

struct Answer {
  std::string id;
  std::string key;
  const char* operation;
  std::int64_t begun;
  const grpc::Status& status;
  std::string value;
};

void WriteAnswer(const History& history, const Answer& answer) {
  std::string line = "{\"t\":[" + std::to_string(answer.begun) + "," +
                     std::to_string(history.Now()) + "],\"id\":" + Quoted(answer.id) +
                     ",\"key\":" + Quoted(answer.key) + ",\"op\":\"" + answer.operation +
                     "\",\"code\":" + std::to_string(answer.status.error_code());
  if (answer.status.ok()) line += ",\"value\":" + answer.value;
  if (!answer.status.ok()) line += ",\"why\":" + Quoted(answer.status.error_message());
  history.Write(line + "}");
}

class Client {
 public:
  Client(Router& router, const History& history, std::string name,
         std::chrono::milliseconds deadline)
      : router_(router), history_(history), name_(std::move(name)), deadline_(deadline) {}

  void Run(Pause& pause, std::chrono::nanoseconds interval) {
    auto due = std::chrono::steady_clock::now();
    for (long turn = 0; pause.Until(due); ++turn) {
      Request(turn);
      // Writes that were due meanwhile are left out: a ledger needs no even load.
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
    WriteAnswer(history_, {id, key, read ? "get" : "add", begun, status, value});
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

/// Writes at each node in turn, whatever routes say.
class Insister {
 public:
  Insister(const std::vector<std::string>& addresses, const History& history) : history_(history) {
    for (const std::string& address : addresses) {
      stubs_.push_back(
          api::Kv::NewStub(grpc::CreateChannel(address, grpc::InsecureChannelCredentials())));
    }
  }

  void Run(Pause& pause, std::chrono::nanoseconds interval) {
    auto due = std::chrono::steady_clock::now();
    for (std::size_t turn = 0; pause.Until(due); ++turn) {
      Request(turn);
      due = std::max(due + interval, std::chrono::steady_clock::now());
    }
  }

 private:
  void Request(std::size_t turn) {
    const std::string id = "insister-" + std::to_string(turn);
    api::IncrementRequest request;
    request.set_key("insister/" + std::to_string(turn / stubs_.size() % kInsistersKeys));
    request.set_by(1);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
    context.AddMetadata("baton-request-id", id);
    api::IncrementResponse response;
    const std::int64_t begun = history_.Now();
    const grpc::Status status =
        stubs_[turn % stubs_.size()]->Increment(&context, request, &response);
    WriteAnswer(history_,
                {id, request.key(), "add", begun, status, std::to_string(response.value())});
  }

  const History& history_;
  std::vector<std::unique_ptr<api::Kv::Stub>> stubs_;
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
  threads.emplace_back(
      [&] { Insister(options.endpoints, history).Run(pause, std::chrono::milliseconds(50)); });
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
