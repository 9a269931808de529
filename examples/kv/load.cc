// Puts load on the key-value store, and checks its answers.
//
//   kv_load --routes 127.0.0.1:7400,127.0.0.1:7410 --clients 64 --rate 1500 --seconds 30
//
// Each client has keys of its own and checks every answer against what it wrote: no acknowledged
// write is lost, doubled or out of order. Requests come at a fixed rate. If a request has to wait
// for a slow one before it, its time counts from the moment at which it was due.
//
// With --tls-ca the nodes need certificates of that authority with a name of --tls-servers, and
// --tls-cert and --tls-key are this program's. The three files are read again when they change;
// each time this prints a line, so that a script that replaces an authority knows when to go on.
//
// Exit codes: 0 every answer right and none failed (or failures are allowed), 1 otherwise, 2 usage.
#include <baton/credentials.h>
#include <baton/router.h>
#include <grpcpp/grpcpp.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "flags.h"
#include "kv.grpc.pb.h"
#include "ledger.h"
#include "measure.h"

namespace {

namespace api = baton::examples::kv;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kKeys = 4;  // counters and registers of each client
constexpr int kMaxComplaints = 20;

struct Settings {
  std::chrono::milliseconds deadline;
  std::chrono::nanoseconds interval;  // between one client's requests
  Clock::time_point end;
};

class Client {
 public:
  Client(baton::Router& router, kv::Measure& measure, std::string name, Settings settings)
      : router_(router), measure_(measure), name_(std::move(name)), settings_(settings) {}

  void Run(Clock::time_point first) {
    for (Clock::time_point due = first; due < settings_.end; due += settings_.interval) {
      std::this_thread::sleep_until(due);
      Request(due);
      ++turn_;
    }
    for (std::size_t i = 0; i < kKeys; ++i) ReadBoth(i);
  }
  int wrong() const { return wrong_; }

 private:
  struct Keys {
    kv::Counter counter;
    kv::Register number;
  };

  // Five requests are three increments, a put and a get.
  void Request(Clock::time_point due) {
    const std::size_t i = turn_ / 5 % kKeys;
    const std::size_t kind = turn_ % 5;
    if (kind < 3) return Told(due, Increment(i));
    if (kind == 3) return Told(due, Put(i));
    Told(due, turn_ / 5 % 2 == 0 ? ReadCounter(i) : ReadRegister(i));
  }

  void Told(Clock::time_point due, const grpc::Status& status) {
    measure_.Add({due, Clock::now(), status.error_code(), status.error_message()});
  }

  void Complain(const std::string& key, const std::string& what) {
    if (what.empty() || ++wrong_ > kMaxComplaints) return;
    std::printf("WRONG %s: %s\n", key.c_str(), what.c_str());
  }

  std::string CounterKey(std::size_t i) const { return name_ + "/counter/" + std::to_string(i); }
  std::string RegisterKey(std::size_t i) const { return name_ + "/number/" + std::to_string(i); }
  baton::CallOptions Options() const {
    baton::CallOptions options;
    options.deadline = settings_.deadline;
    return options;
  }

  grpc::Status Increment(std::size_t i) {
    api::IncrementRequest request;
    request.set_key(CounterKey(i));
    request.set_by(1);
    api::IncrementResponse response;
    const grpc::Status status =
        router_.Call(request.key(), &api::Kv::Stub::Increment, request, &response, Options());
    kv::Counter& counter = keys_[i].counter;
    if (status.ok()) {
      Complain(request.key(), counter.Acknowledged(response.value()));
    } else {
      counter.Failed();
    }
    return status;
  }

  grpc::Status Put(std::size_t i) {
    kv::Register& number = keys_[i].number;
    const std::int64_t next = number.Next();
    api::PutRequest request;
    request.set_key(RegisterKey(i));
    request.set_value(std::to_string(next));
    api::PutResponse response;
    const grpc::Status status =
        router_.Call(request.key(), &api::Kv::Stub::Put, request, &response, Options());
    if (status.ok()) {
      number.Acknowledged(next);
    } else {
      number.Failed(next);
    }
    return status;
  }

  grpc::Status Get(const std::string& key, std::optional<std::int64_t>& value) {
    api::GetRequest request;
    request.set_key(key);
    api::GetResponse response;
    grpc::Status status = router_.Call(key, &api::Kv::Stub::Get, request, &response, Options());
    if (status.ok() && response.has_value()) value = std::stoll(response.value());
    return status;
  }

  grpc::Status ReadCounter(std::size_t i) {
    std::optional<std::int64_t> value;
    grpc::Status status = Get(CounterKey(i), value);
    if (status.ok()) Complain(CounterKey(i), keys_[i].counter.Read(value.value_or(0)));
    return status;
  }

  grpc::Status ReadRegister(std::size_t i) {
    std::optional<std::int64_t> value;
    grpc::Status status = Get(RegisterKey(i), value);
    if (status.ok()) Complain(RegisterKey(i), keys_[i].number.Read(value));
    return status;
  }

  // At the end everything is read once more. If such a read fails, its key stays unchecked.
  void ReadBoth(std::size_t i) {
    for (const grpc::Status& status : {ReadCounter(i), ReadRegister(i)}) {
      if (!status.ok()) Complain(name_, "the last read failed: " + status.error_message());
    }
  }

  baton::Router& router_;
  kv::Measure& measure_;
  const std::string name_;
  const Settings settings_;
  std::array<Keys, kKeys> keys_;
  std::size_t turn_ = 0;
  int wrong_ = 0;
};

/// Null: without TLS.
std::shared_ptr<const baton::GroupCredentials> CredentialsFrom(const kv::Flags& flags) {
  const auto file = [&](const char* name) { return flags.find(name)->second; };
  if (file("tls-ca").empty() && file("tls-cert").empty() && file("tls-key").empty()) return nullptr;
  auto read = baton::GroupCredentials::FromFiles({.ca_file = file("tls-ca"),
                                                  .servers = kv::ListOf(flags, "tls-servers"),
                                                  .cert_file = file("tls-cert"),
                                                  .key_file = file("tls-key")});
  if (!read) kv::Fail(read.error().message);
  return std::move(read).value();
}

/// Prints a line whenever the credentials have changed, until `over`.
void TellChanges(const baton::GroupCredentials& credentials, const std::atomic<bool>& over) {
  auto last = credentials.Get();
  while (!over.load()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    auto newest = credentials.Get();
    if (newest == last) continue;
    last = std::move(newest);
    std::printf("credentials changed\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const kv::Flags flags = kv::ParseFlags(argc, argv,
                                         {{"routes", "127.0.0.1:7400"},
                                          {"group", "kv"},
                                          {"clients", "64"},
                                          {"rate", "1500"},
                                          {"seconds", "30"},
                                          {"deadline-ms", "2000"},
                                          {"failures", ""},
                                          {"tls-ca", ""},
                                          {"tls-cert", ""},
                                          {"tls-key", ""},
                                          {"tls-servers", "spiffe://example.org/kv/node/*"},
                                          {"allow-failures", "0"}});
  const long clients = kv::NumberOf(flags, "clients", 1, 1000);
  const long rate = kv::NumberOf(flags, "rate", 1, 1'000'000);
  baton::RouterOptions options;
  options.group = flags.find("group")->second;
  options.endpoints = kv::ListOf(flags, "routes");
  options.group_credentials = CredentialsFrom(flags);
  auto started = baton::Router::Start(options);
  if (!started) kv::Fail(started.error().message);
  baton::Router& router = *started.value();
  const baton::Status ready = router.WaitReady(std::chrono::seconds(30));
  if (!ready) kv::Fail(ready.error().message, 1);

  std::printf("begun\n");
  std::fflush(stdout);
  const Clock::time_point begun = Clock::now();
  const Settings settings{
      .deadline = std::chrono::milliseconds(kv::NumberOf(flags, "deadline-ms", 1, 600'000)),
      .interval = std::chrono::nanoseconds(1'000'000'000L * clients / rate),
      .end = begun + std::chrono::seconds(kv::NumberOf(flags, "seconds", 1, 86'400))};
  kv::Measure measure(begun);
  std::vector<Client> all;
  for (long i = 0; i < clients; ++i) {
    all.emplace_back(router, measure, std::to_string(getpid()) + "-" + std::to_string(i), settings);
  }
  std::vector<std::thread> threads;
  for (long i = 0; i < clients; ++i) {
    threads.emplace_back(
        [&, i] { all[static_cast<std::size_t>(i)].Run(begun + settings.interval * i / clients); });
  }
  std::atomic<bool> over{false};
  std::thread changes([&] {
    if (options.group_credentials != nullptr) TellChanges(*options.group_credentials, over);
  });
  for (std::thread& thread : threads) thread.join();
  over.store(true);
  changes.join();

  int wrong = 0;
  for (const Client& client : all) wrong += client.wrong();
  measure.Print();
  std::printf("%llu done, %llu failed, %d wrong\n", static_cast<unsigned long long>(measure.done()),
              static_cast<unsigned long long>(measure.failed()), wrong);
  const std::string& failures = flags.find("failures")->second;
  if (!failures.empty() && !measure.WriteFailures(failures)) {
    kv::Fail("cannot write " + failures, 1);
  }
  const bool failures_count = flags.find("allow-failures")->second == "0";
  return wrong > 0 || (failures_count && measure.failed() > 0) ? 1 : 0;
}
