// A program that embeds a node whose callbacks misbehave: for one shard they hang, are slow or
// throw, or it never finishes preparing any shard. It takes the flags of batond that it needs,
// writes the same ready file, serves batonctl, and drains on SIGTERM.
//
//   hanging_node --mode hang --shard 3 --node n1 ... ; modes: hang, slow, throw, prepare, and
//   throw-all: for every shard, as long as the file that --while names exists; throw-while: the
//   same for the one shard; die: the one shard kills the process, as long as that file exists
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include <grpcpp/grpcpp.h>

#include "app/common/port_reservation.h"
#include "app/daemon/connection_listener.h"
#include "app/daemon/ready_file.h"
#include "base/small_file.h"
#include "baton/grpc.h"
#include "baton/node.h"
#include "http/server.h"
#include "runtime/control.h"
#include "runtime/metrics/metrics.h"

namespace {

using namespace baton;

class Misbehaving final : public Listener {
 public:
  Misbehaving(std::string mode, ShardId shard, std::string cause)
      : mode_(std::move(mode)), shard_(shard), cause_(std::move(cause)) {}

  void Prepare(ShardId) override {
    if (mode_ == "prepare") WaitUnlessEnding(std::chrono::hours(1));
  }
  void Acquired(ShardId shard, Term term) override {
    if (mode_ == "slow") WaitUnlessEnding(std::chrono::milliseconds(300));
    if (mode_ == "throw-all" && std::filesystem::exists(cause_)) {
      throw std::runtime_error("the database is down");
    }
    if (shard != shard_) return;
    if (mode_ == "die" && std::filesystem::exists(cause_)) raise(SIGKILL);
    if (mode_ == "throw" || (mode_ == "throw-while" && std::filesystem::exists(cause_)))
      throw std::runtime_error("this shard's state can't be loaded");
    if (mode_ == "hang") {
      std::fprintf(stderr, "hanging in shard %u, term %lld\n", shard.value,
                   static_cast<long long>(term.value));
      WaitUnlessEnding(std::chrono::hours(1));
    }
  }
  void Lost(ShardId shard, Term, Reason reason) override {
    std::fprintf(stderr, "lost shard %u: %s\n", shard.value, ToString(reason));
  }

  /// Lets every callback return.
  void End() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    ended_.notify_all();
  }

 private:
  void WaitUnlessEnding(std::chrono::milliseconds bound) {
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, bound, [this] { return ending_; });
  }

  const std::string mode_;
  const ShardId shard_;
  const std::string cause_;
  std::mutex mutex_;  // guards ending_
  std::condition_variable ended_;
  bool ending_ = false;
};

std::chrono::milliseconds Milliseconds(const std::string& text) {
  return std::chrono::milliseconds(std::stol(text));
}

/// Returns an empty text if no file is named.
std::string Content(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

NodeOptions OptionsFrom(std::map<std::string, std::string>& flags) {
  NodeOptions options;
  options.group = flags["--group"];
  options.shards = static_cast<std::uint32_t>(std::stoul(flags["--shards"]));
  options.node = flags["--node"];
  options.state_dir = flags["--state-dir"];
  options.etcd.endpoints.clear();
  std::istringstream endpoints(flags["--etcd"]);
  for (std::string one; std::getline(endpoints, one, ',');) options.etcd.endpoints.push_back(one);
  options.etcd.user = flags["--etcd-user"];
  options.etcd.password = WithoutLineEnds(Content(flags["--etcd-password-file"]));
  options.etcd.ca_pem = Content(flags["--etcd-ca"]);
  options.etcd.cert_pem = Content(flags["--etcd-cert"]);
  options.etcd.key_pem = Content(flags["--etcd-key"]);
  options.ttl = std::chrono::seconds(std::stol(flags["--ttl"]));
  options.callback_timeout = Milliseconds(flags["--callback-ms"]);
  options.settle = std::chrono::milliseconds(500);
  options.rebalance_delay = std::chrono::milliseconds(500);
  options.cooldown = std::chrono::seconds(1);
  return options;
}

/// batonctl's way to the node, at an address that was known before the node.
class AdminServer {
 public:
  AdminServer(Node& node, app::PortReservation reservation) {
    grpc::ServerBuilder builder;
    connections_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        grpc::InsecureServerCredentials());
    service_ = RegisterAdminService(builder, node);
    server_ = builder.BuildAndStart();
    const std::string address = reservation.address();
    auto listener = app::ConnectionListener::Start(
        reservation.Release(), address, {.most_descriptors = 1000, .kept = 0},
        [this](int connection, int) {
          grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
          taken.fd = connection;
          connections_->HandleNewConnection(&taken);
          return app::ConnectionListener::Served::kTaken;
        });
    if (listener) listener_ = std::move(listener).value();
  }
  ~AdminServer() {
    listener_.reset();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(1));
    server_->Wait();
  }
  AdminServer(const AdminServer&) = delete;
  AdminServer& operator=(const AdminServer&) = delete;

 private:
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<AdminService> service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<app::ConnectionListener> listener_;
};

}  // namespace

int main(int argc, char** argv) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::map<std::string, std::string> flags;
  for (int i = 1; i + 1 < argc; i += 2) flags[argv[i]] = argv[i + 1];

  const ShardId shard{static_cast<std::uint32_t>(std::stoul(flags["--shard"]))};
  const auto listener = std::make_shared<Misbehaving>(flags["--mode"], shard, flags["--while"]);
  auto http = http::HttpServer::Bind({.group = flags["--group"], .address = "127.0.0.1:0"});
  if (!http) return std::fprintf(stderr, "%s\n", http.error().message.c_str()), 1;
  NodeOptions options = OptionsFrom(flags);
  options.http_address = http.value()->address();
  auto reserved = app::PortReservation::Take({.host = "127.0.0.1", .port = 0});
  if (!reserved) return std::fprintf(stderr, "%s\n", reserved.error().message.c_str()), 1;
  options.address = reserved.value().address();
  auto started = Node::Start(options, listener);
  if (!started) return std::fprintf(stderr, "%s\n", started.error().message.c_str()), 1;
  Node& node = *started.value();
  const runtime::Metrics metrics(node.control());
  http.value()->Serve(node.control(), {.node = {metrics.node()}, .shards = {metrics.shards()}});

  auto admin = std::make_unique<AdminServer>(node, std::move(reserved).value());
  const Status ready = node.WaitReady(std::chrono::seconds(60));
  if (!ready) return std::fprintf(stderr, "%s\n", ready.error().message.c_str()), 1;
  app::ReadyFile file(flags["--ready-file"]);
  const Status written = file.Write({.node = options.node,
                                     .grpc = options.address,
                                     .http = http.value()->address(),
                                     .pid = getpid()});
  if (!written) return std::fprintf(stderr, "%s\n", written.error().message.c_str()), 1;

  int signal = 0;
  sigwait(&signals, &signal);
  listener->End();
  const Status drained = node.Drain();
  http.value().reset();
  admin.reset();
  node.Stop();
  return drained.ok() ? 0 : 1;
}
