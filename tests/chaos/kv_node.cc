// A node of the key-value store (examples/kv) that writes down what it may do and when: each
// callback, the answers of Leads() for all shards every 10 ms, and what its session is. The
// resource writes its own part: each accepted write leaves a row in its shard's file, in the
// transaction that accepts it.
//
//   chaos_kv_node --etcd 127.0.0.1:2379 --node n1 --listen 127.0.0.1:7400 --data DIR --history FILE
//   chaos_kv_node --prepare yes --data DIR --shards 24      makes the shards' files, and ends
//   chaos_kv_node --guard-program baton-guard ...           with a guard of its own
//
// SIGUSR1: it forks, and the child does nothing for ever. SIGUSR2: it takes memory until it may
// have no more. SIGHUP: its loop stops for ever.
#include <baton/fencing.h>
#include <baton/grpc.h>
#include <baton/node.h>
#include <baton/owner_guard.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flags.h"
#include "history.h"
#include "kv_service.h"
#include "runtime/control.h"
#include "sampler.h"
#include "shards.h"

namespace baton::chaos {
namespace {

constexpr std::chrono::milliseconds kSampleEvery{10};

// Each accepted write, with its node and time: the resource's own record, made with it or not at
// all.
constexpr const char* kRecordAccepted =
    "CREATE TABLE IF NOT EXISTS accepted (place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT, answer "
    "TEXT, term INTEGER,"
    " node TEXT, at INTEGER);"
    "CREATE TRIGGER IF NOT EXISTS record_accepted AFTER INSERT ON requests BEGIN"
    " INSERT INTO accepted (id, answer, term, node, at) VALUES (NEW.id, NEW.answer, (SELECT "
    "max(term) FROM baton_terms),"
    " history_node(), history_now()); END";

// A file grows with what it accepted; a process that holds more of it the longer it runs would look
// as if it leaked. Pages; kept in the file, for each connection to come.
constexpr const char* kSmallCache = "PRAGMA default_cache_size = 16";

struct Writer {
  const History* history = nullptr;
  std::string node;
};
Writer writer;  // NOLINT: SQLite's functions have no other way to it; set before the first thread
                // starts

void HistoryNode(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_text(context, writer.node.c_str(), -1, SQLITE_STATIC);
}

void HistoryNow(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_int64(context, writer.history->Now());
}

// For every connection of this process, as the stores open their own.
int AddFunctions(sqlite3* handle, char**, const sqlite3_api_routines*) {
  sqlite3_create_function(handle, "history_node", 0, SQLITE_UTF8, nullptr, HistoryNode, nullptr,
                          nullptr);
  return sqlite3_create_function(handle, "history_now", 0, SQLITE_UTF8, nullptr, HistoryNow,
                                 nullptr, nullptr);
}

/// Passes callbacks on, and writes down when each began and how it ended.
class Recorder final : public Listener {
 public:
  Recorder(std::shared_ptr<Listener> inner, const History& history)
      : inner_(std::move(inner)), history_(history) {}

  void Prepare(ShardId shard) override {
    Call("prepare", shard, {}, "", [&] { inner_->Prepare(shard); });
  }
  void Acquired(ShardId shard, Term term) override {
    Call("acquired", shard, term, "", [&] { inner_->Acquired(shard, term); });
  }
  void Releasing(ShardId shard, Term term) override {
    Call("releasing", shard, term, "", [&] { inner_->Releasing(shard, term); });
  }
  void Lost(ShardId shard, Term term, Reason reason) override {
    Call("lost", shard, term, ToString(reason), [&] { inner_->Lost(shard, term, reason); });
  }
  void Suspended(ShardId shard, Term term) override {
    Call("suspended", shard, term, "", [&] { inner_->Suspended(shard, term); });
  }
  void Resumed(ShardId shard, Term term) override {
    Call("resumed", shard, term, "", [&] { inner_->Resumed(shard, term); });
  }
  void Transitioned(const Transition& transition) override {
    history_.Write("{\"at\":" + std::to_string(history_.Now()) +
                   ",\"event\":\"transition\",\"shard\":" + std::to_string(transition.shard.value) +
                   ",\"term\":" + std::to_string(transition.term.value) + ",\"reason\":\"" +
                   ToString(transition.reason) + "\",\"from\":" + Quoted(transition.from) +
                   ",\"to\":" + Quoted(transition.to) + "}");
  }
  void Halted(const Error& why) override {
    history_.Write("{\"at\":" + std::to_string(history_.Now()) +
                   ",\"event\":\"halted\",\"why\":" + Quoted(why.message) + "}");
  }

 private:
  void Tell(const std::string& what, const char* phase) {
    history_.Write("{\"at\":" + std::to_string(history_.Now()) + "," + what + ",\"phase\":\"" +
                   phase + "\"}");
  }

  void Call(const char* name, ShardId shard, Term term, const std::string& reason,
            const std::function<void()>& call) {
    std::string what = "\"event\":\"" + std::string(name) +
                       "\",\"shard\":" + std::to_string(shard.value) +
                       ",\"term\":" + std::to_string(term.value);
    if (!reason.empty()) what += ",\"reason\":\"" + reason + "\"";
    Tell(what, "begin");
    try {
      call();
    } catch (const std::exception&) {
      Tell(what, "threw");
      throw;
    }
    Tell(what, "end");
  }

  const std::shared_ptr<Listener> inner_;
  const History& history_;
};

NodeOptions OptionsFrom(const kv::Flags& flags) {
  const auto milliseconds = [&](const char* name) {
    return std::chrono::milliseconds(kv::NumberOf(flags, name, 0, 3'600'000));
  };
  NodeOptions options;
  options.group = flags.find("group")->second;
  options.shards = static_cast<std::uint32_t>(kv::NumberOf(flags, "shards", 1, 10'000));
  options.node = flags.find("node")->second;
  options.etcd.endpoints = kv::ListOf(flags, "etcd");
  options.address = flags.find("listen")->second;
  options.state_dir = flags.find("state-dir")->second;
  options.ttl = std::chrono::seconds(kv::NumberOf(flags, "ttl", 2, 3600));
  options.expect_nodes = static_cast<std::uint32_t>(kv::NumberOf(flags, "expect-nodes", 1, 100));
  options.rebalance_delay = milliseconds("rebalance-delay-ms");
  options.cooldown = milliseconds("cooldown-ms");
  options.history = static_cast<std::uint32_t>(kv::NumberOf(flags, "remembered", 1, 1'000'000));
  options.prepare_timeout = options.release_timeout = milliseconds("callback-timeout-ms");
  options.callback_timeout = options.drain_timeout = milliseconds("callback-timeout-ms");
  options.guard_program = flags.find("guard-program")->second;
  options.guard = options.guard_program.empty() ? GuardMode::kOff : GuardMode::kOwn;
  options.hang_timeout = milliseconds("hang-timeout-ms");
  return options;
}

void PrepareStores(const kv::Flags& flags) {
  const std::string& folder = flags.find("data")->second;
  const long shards = kv::NumberOf(flags, "shards", 1, 10'000);
  for (std::uint32_t shard = 0; shard < static_cast<std::uint32_t>(shards); ++shard) {
    const kv::ShardStore store(folder, flags.find("group")->second, ShardId{shard});
    kv::Database database(folder + "/shard-" + std::to_string(shard) + ".db");
    database.Execute(kRecordAccepted);
    database.Execute(kSmallCache);
  }
}

/// The child has this process's descriptors, and with them the lock on the state directory.
void Fork(const History& history) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  history.Write("{\"at\":" + std::to_string(history.Now()) +
                ",\"event\":\"forked\",\"pid\":" + std::to_string(child) + "}");
}

/// Ends with the process, which the kernel kills; without a bound on memory it stops at 1 GiB.
void TakeMemory() {
  constexpr std::size_t kPiece = 1 << 20;
  static std::vector<std::unique_ptr<char[]>> taken;
  while (taken.size() < 1024) {
    taken.push_back(std::make_unique_for_overwrite<char[]>(kPiece));
    std::memset(taken.back().get(), 1, kPiece);
  }
}

/// The other threads go on.
void StopTheLoop(Node& node) {
  node.control().GetStatus([](const std::shared_ptr<const runtime::NodeStatus>&) {
    for (;;) pause();
  });
}

sigset_t Heeded() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

/// Until SIGTERM.
void HeedSignals(Node& node, const History& history) {
  const sigset_t signals = Heeded();
  for (int signal = 0; signal != SIGTERM; sigwait(&signals, &signal)) {
    if (signal == SIGUSR1) Fork(history);
    if (signal == SIGUSR2) TakeMemory();
    if (signal == SIGHUP) StopTheLoop(node);
  }
}

int Serve(const kv::Flags& flags, const History& history) {
  const NodeOptions options = OptionsFrom(flags);
  auto shards = std::make_shared<kv::Shards>(kv::Shards::Options{
      .folder = flags.find("data")->second, .group = options.group, .count = options.shards});
  auto started = Node::Start(options, std::make_shared<Recorder>(shards, history));
  if (!started) kv::Fail(started.error().message, 1);
  Node& node = *started.value();

  OwnerGuard guard(node);
  kv::KvService service(guard, *shards);
  grpc::ServerBuilder builder;
  builder.AddListeningPort(options.address, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const auto admin = RegisterAdminService(builder, node, {.allow_remote = true});
  const auto routing = RegisterRoutingService(builder, node);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) kv::Fail("can't listen on " + options.address, 1);
  const std::string pid = std::to_string(getpid());
  history.Write("{\"at\":" + std::to_string(history.Now()) +
                ",\"event\":\"started\",\"pid\":" + pid + "}");
  bool drained = false;
  {
    const Sampler sampler(node, history, options.shards, kSampleEvery);
    HeedSignals(node, history);
    history.Write("{\"at\":" + std::to_string(history.Now()) + ",\"event\":\"stopping\"}");
    drained = node.Drain().ok();
  }
  routing->Shutdown();
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  server->Wait();
  node.Stop();
  history.Write("{\"at\":" + std::to_string(history.Now()) +
                ",\"event\":\"stopped\",\"drained\":" + (drained ? "true" : "false") + "}");
  return drained ? 0 : 1;
}

}  // namespace
}  // namespace baton::chaos

int main(int argc, char** argv) {
  // Taken by sigwait, so blocked before any thread starts.
  const sigset_t signals = baton::chaos::Heeded();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const kv::Flags flags = kv::ParseFlags(argc, argv,
                                         {{"etcd", "127.0.0.1:2379"},
                                          {"group", "kv"},
                                          {"shards", "24"},
                                          {"node", "n1"},
                                          {"listen", "127.0.0.1:7400"},
                                          {"data", ""},
                                          {"state-dir", ""},
                                          {"ttl", "3"},
                                          {"expect-nodes", "5"},
                                          {"rebalance-delay-ms", "500"},
                                          {"cooldown-ms", "1000"},
                                          {"callback-timeout-ms", "5000"},
                                          {"remembered", "10000"},
                                          {"guard-program", ""},
                                          {"hang-timeout-ms", "0"},
                                          {"history", "/dev/null"},
                                          {"clock-offset-ns", "0"},
                                          {"prepare", "no"}});
  const baton::chaos::History history(flags.find("history")->second,
                                      std::stoll(flags.find("clock-offset-ns")->second));
  baton::chaos::writer = {&history, flags.find("node")->second};
  sqlite3_auto_extension(reinterpret_cast<void (*)()>(&baton::chaos::AddFunctions));  // NOLINT
  if (flags.find("prepare")->second == "yes") {
    baton::chaos::PrepareStores(flags);
    return 0;
  }
  return baton::chaos::Serve(flags, history);
}
