// One node of the sharded key-value store. It leads its part of the shards and serves their keys.
//
//   kv_server --etcd 127.0.0.1:2379 --node n1 --listen 127.0.0.1:7400 --data /shared/kv
//
// With --tls-cert and --tls-key the port has TLS, with --tls-ca each client needs a certificate of
// that authority. The three files are read again when they change.
//
// All nodes share the data folder. It stands for storage that each of them can reach, such as a
// database or an object store. At SIGTERM the node hands every shard over, then ends.
//
// With --load-time-ms a shard's data takes this long to load, as in a service that keeps it in
// memory. If the group's placement rules ask for standbys, they load the data in advance and serve
// at once when the leader dies. With --guard-program, the path of baton-guard, the group knows at
// once that this process is dead; it needs --state-dir.
#include <baton/credentials.h>
#include <baton/grpc.h>
#include <baton/node.h>
#include <baton/owner_guard.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "flags.h"
#include "kv_service.h"
#include "shards.h"

namespace {

baton::NodeOptions OptionsFrom(const kv::Flags& flags) {
  baton::NodeOptions options;
  options.group = flags.find("group")->second;
  options.shards = static_cast<std::uint32_t>(kv::NumberOf(flags, "shards", 1, 1'000'000));
  options.node = flags.find("node")->second;
  options.etcd.endpoints = kv::ListOf(flags, "etcd");
  options.address = flags.find("listen")->second;
  options.state_dir = flags.find("state-dir")->second;
  options.ttl = std::chrono::seconds(kv::NumberOf(flags, "ttl", 2, 3600));
  options.expect_nodes = static_cast<std::uint32_t>(kv::NumberOf(flags, "expect-nodes", 1, 10'000));
  options.rebalance_delay =
      std::chrono::milliseconds(kv::NumberOf(flags, "rebalance-delay-ms", 0, 3'600'000));
  if (const std::string& guard = flags.find("guard-program")->second; !guard.empty()) {
    options.guard = baton::GuardMode::kOwn;
    options.guard_program = guard;
  }
  return options;
}

/// Null: without TLS.
std::unique_ptr<baton::ServerCertificates> CertificatesFrom(const kv::Flags& flags) {
  const auto file = [&](const char* name) { return flags.find(name)->second; };
  if (file("tls-cert").empty() && file("tls-key").empty() && file("tls-ca").empty()) return nullptr;
  auto read = baton::ServerCertificates::FromFiles({.cert_file = file("tls-cert"),
                                                    .key_file = file("tls-key"),
                                                    .client_ca_file = file("tls-ca")});
  if (!read) kv::Fail(read.error().message);
  return std::move(read).value();
}

}  // namespace

int main(int argc, char** argv) {
  // sigwait below takes the signals, so they are blocked before any thread starts.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const kv::Flags flags = kv::ParseFlags(argc, argv,
                                         {{"etcd", "127.0.0.1:2379"},
                                          {"group", "kv"},
                                          {"shards", "32"},
                                          {"node", "n1"},
                                          {"listen", "127.0.0.1:7400"},
                                          {"data", "kv-data"},
                                          {"state-dir", ""},
                                          {"tls-cert", ""},
                                          {"tls-key", ""},
                                          {"tls-ca", ""},
                                          {"ttl", "10"},
                                          {"expect-nodes", "1"},
                                          {"rebalance-delay-ms", "5000"},
                                          {"load-time-ms", "0"},
                                          {"guard-program", ""}});
  const baton::NodeOptions options = OptionsFrom(flags);
  const auto certificates = CertificatesFrom(flags);
  auto shards = std::make_shared<kv::Shards>(kv::Shards::Options{
      .folder = flags.find("data")->second,
      .group = options.group,
      .count = options.shards,
      .load_time = std::chrono::milliseconds(kv::NumberOf(flags, "load-time-ms", 0, 3'600'000))});
  auto started = baton::Node::Start(options, shards);
  if (!started) kv::Fail(started.error().message, 1);
  baton::Node& node = *started.value();
  shards->BeginStandbys(
      [&node](baton::ShardId shard, bool ready) { node.SetStandbyReady(shard, ready); });

  baton::OwnerGuard guard(node);
  kv::KvService service(guard, *shards);
  grpc::ServerBuilder builder;
  if (certificates != nullptr) {
    certificates->AddListeningPort(builder, options.address);
  } else {
    builder.AddListeningPort(options.address, grpc::InsecureServerCredentials());
  }
  baton::LimitServer(builder);
  builder.RegisterService(&service);
  const auto admin = baton::RegisterAdminService(builder, node);
  const auto routing = baton::RegisterRoutingService(builder, node);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr)
    kv::Fail("can't listen on " + options.address + "; give another --listen", 1);
  std::printf("serving on %s\n", options.address.c_str());
  std::fflush(stdout);

  int signal = 0;
  sigwait(&signals, &signal);
  const baton::Status drained = node.Drain();
  if (!drained) std::fprintf(stderr, "%s\n", drained.error().message.c_str());
  node.Stop();  // ends the streams of Routers and batonctl, for which Shutdown would wait
  server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
  server->Wait();
  return drained.ok() ? 0 : 1;
}
