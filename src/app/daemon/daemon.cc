#include "app/daemon/daemon.h"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/common/port_reservation.h"
#include "app/common/reloaded_files.h"
#include "app/daemon/access_file.h"
#include "app/daemon/admin_socket.h"
#include "app/daemon/audit_file.h"
#include "app/daemon/command.h"
#include "app/daemon/connection_listener.h"
#include "app/daemon/connection_shares.h"
#include "app/daemon/ending.h"
#include "app/daemon/events_file.h"
#include "app/daemon/guard_choice.h"
#include "app/daemon/last_resort.h"
#include "app/daemon/listener_metrics.h"
#include "app/daemon/node_end.h"
#include "app/daemon/open_calls.h"
#include "app/daemon/readiness.h"
#include "app/daemon/receive_watch.h"
#include "app/daemon/reflection.h"
#include "app/daemon/signals.h"
#include "base/clock.h"
#include "base/grpc/freed_requests.h"
#include "base/grpc/server_limits.h"
#include "base/grpc/server_tls.h"
#include "base/log.h"
#include "baton/node.h"
#include "http/server.h"
#include "routing/server/route_server.h"
#include "routing/server/routing_service.h"
#include "runtime/admin/admin_service.h"
#include "runtime/admin/event_stream.h"
#include "runtime/control.h"
#include "runtime/doctor/secrets.h"
#include "runtime/metrics/metrics.h"
#include "runtime/metrics/process_metrics.h"
#include "runtime/metrics/server_interceptor.h"
#include "runtime/node_application.h"
#include "runtime/relay.h"
#include "sidecar/server.h"
#include "sidecar/sidecar_metrics.h"

namespace baton::app {
namespace {

// How often the ready file and the health service follow the node's state.
constexpr std::chrono::milliseconds kPoll{50};
// How often files that may change are read: far within the shortest lease.
constexpr std::chrono::milliseconds kLookAtFiles{500};
// How long the servers' end may take.
constexpr std::chrono::seconds kServersEnd{10};
// The number of connections is bounded, so idle ones are closed; their clients connect again.
constexpr int kHandshakeMs = 10'000;
constexpr int kMaxIdleMs = 30'000;
// How long calls and streams may go on once their connection has reached --tls-max-age.
constexpr int kMaxGraceMs = 30'000;
// Bounds of descriptors in use (why: ConnectionListener). A relay has no lease, and serves more.
constexpr int kMaxOfNode = ConnectionShares::kDescriptors * 2'048;
constexpr int kMaxOfRelay = ConnectionShares::kDescriptors * 12'288;
// After a relay's restart all its clients come at once: 1.4 GiB with TLS.
constexpr ReceiveBudget::Bounds kBoundsOfRelay{.growth_in_10_s = std::int64_t{2} << 30,
                                               .growth_in_100_s = std::int64_t{2} << 30,
                                               .open_calls = 4 * kMaxStreams};

class Daemon {
 public:
  explicit Daemon(const DaemonOptions& options)
      : options_(options),
        readiness_(options.ready_file),
        access_(std::make_shared<access::Access>(DefaultsOf(options))),
        access_file_(options.access_file, options.access_text),
        credentials_("etcd's password or certificates", CredentialsOf(options)),
        certificates_("the certificates of --tls-cert", CertificatesOf(options)) {
    access_->SetRules(options.access_rules);
  }
  ~Daemon() { StopServers(); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  int Run() {
    HandleSignals(Handlers());
    watch_.Start([callers = callers_] { callers->NoteLate(); });
    log::ConfigureLog(options_.log);
    // Before any server is built, also those that the sidecar builds on a thread of its own.
    grpc::EnableDefaultHealthCheckService(true);
    WarnOfSecrets(options_.node.etcd);
    if (options_.grpc_reflection) {
      if (const Status offered = OfferReflection(); !offered) return Fail(offered.error());
    }
    const auto start = options_.relay ? &Daemon::StartRelay : &Daemon::StartNode;
    for (const auto step : {&Daemon::Bind, &Daemon::OpenFiles, start, &Daemon::ServeGrpc}) {
      if (const Status done = (this->*step)(); !done) return Fail(done.error());
    }
    ServeHttp();
    if (const Status started = StartCommand(); !started) return Fail(started.error());
    std::vector<grpc::HealthCheckServiceInterface*> health{grpc_->GetHealthCheckService()};
    if (admin_socket_ != nullptr) health.push_back(&admin_socket_->health());
    readiness_.Serve(std::move(health), {.node = options_.node.node,
                                         .grpc = grpc_address_,
                                         .http = http_->address(),
                                         .pid = getpid()});
    while (!ending_->WaitFor(kPoll)) {
      readiness_.Look(control(), BootClock::now());
      FollowFiles();
    }
    return Finish();
  }

 private:
  SignalHandlers Handlers() {
    SignalHandlers handlers;
    handlers.first = [ending = ending_, relay = options_.relay](int signal) {
      log::Info(relay ? "signal received: exiting; a second signal exits at once"
                      : "signal received: giving up the shards, then exiting; a second signal "
                        "exits at once");
      ending->Terminate(signal);
    };
    if (options_.command.empty()) return handlers;
    handlers.second = [commands = commands_] { commands->Kill(); };
    handlers.others = [commands = commands_](int signal) { commands->Signal(signal); };
    return handlers;
  }

  static int Fail(const Error& error) {
    log::Error("batond: " + error.message);
    return error.code == ErrorCode::kInvalidArgument ? 2 : 1;
  }

  runtime::SensitiveFiles Files() const {
    const auto& etcd = options_.credentials;
    const auto& ports = options_.tls_files;
    return {.secret = {etcd.password, etcd.key, ports.key},
            .trusted = {etcd.ca, etcd.cert, ports.ca, ports.cert}};
  }

  void WarnOfSecrets(const EtcdOptions& etcd) const {
    const auto found =
        runtime::CheckSecrets(etcd, Files(), std::chrono::system_clock::now(),
                              options_.tls != nullptr ? options_.tls->Get()->texts.cert : "");
    for (const std::string& trouble : runtime::SecretsTroubles(found)) log::Warn(trouble);
  }

  Status Bind() {
    Result<PortReservation> reserved = PortReservation::Take(options_.listen);
    if (!reserved) return reserved.error();
    reservation_.emplace(std::move(reserved).value());
    auto http = http::HttpServer::Bind({.group = options_.node.group,
                                        .address = http::FormatAddress(options_.http),
                                        .names = HttpNamesOf(options_),
                                        .tls = options_.tls,
                                        .max_age = options_.tls_max_age,
                                        .access = access_});
    if (!http) return http.error();
    http_ = std::move(http).value();
    return Ok();
  }

  /// The addresses at which everybody on other hosts can call.
  std::vector<std::string> Exposed() const {
    std::vector<std::string> exposed;
    const bool known = options_.tls && options_.tls->clients() == ClientCertificates::kRequire;
    if (known) return exposed;
    for (const http::Address& address : {http::Address{options_.listen.host, reservation_->port()},
                                         http::Address{options_.http.host, http_->port()}}) {
      if (!http::IsLoopback(address)) exposed.push_back(http::FormatAddress(address));
    }
    return exposed;
  }

  Status OpenFiles() {
    if (!options_.events_file.empty()) {
      auto file = EventsFile::Open(options_.events_file);
      if (!file) return file.error();
      events_file_ = std::move(file).value();
    }
    if (options_.audit_file.empty()) return Ok();
    auto file = AuditFile::Open({.path = options_.audit_file,
                                 .group = options_.node.group,
                                 .node = options_.node.node,
                                 .required = options_.audit_required});
    if (!file) return file.error();
    audit_file_ = std::move(file).value();
    access_->TellRefusals(
        [file = audit_file_.get()](const auto&... refusal) { file->Refused(refusal...); });
    return Ok();
  }

  Status StartNode() {
    NodeOptions node = options_.node;
    ChooseGuard(options_, node);
    node.keeps_descriptors = true;
    const Advertised told = AdvertisedBy(options_, reservation_->port(), http_->port());
    node.address = told.grpc;
    node.http_address = told.http;
    node.service_address = told.service;
    node.log_level = options_.log.level;
    if (options_.sidecar) {
      sidecar_ = std::make_unique<sidecar::Server>(
          sidecar::AttachmentOptions{
              .group = node.group,
              .node = node.node,
              .shards = node.shards,
              .hash = node.hash,
              .patience = std::max<Duration>(std::chrono::seconds(1), node.ttl / 3),
              .watchdog = options_.watchdog},
          access_, sidecar::PortTls{options_.tls, options_.tls_max_age}, watch_.budget());
      if (node.service_address.empty()) {
        log::Warn(
            "routes carry no address: callers will not find the application unless "
            "--service-address gives its own");
      }
    }
    auto started = sidecar_ == nullptr ? Node::Start(std::move(node))
                                       : runtime::NodeWithApplication::Start(
                                             std::move(node), sidecar_->attachment());
    if (!started) return started.error();
    node_ = std::move(started).value();
    Observe();
    // After the node took its lock: a second process of this node must not touch the socket.
    return sidecar_ == nullptr ? Ok() : sidecar_->Listen(*options_.sidecar);
  }

  Status StartRelay() {
    auto started = runtime::Relay::Start({.group = options_.node.group,
                                          .name = options_.node.node,
                                          .etcd = options_.node.etcd,
                                          .history = options_.node.history});
    if (!started) return started.error();
    relay_ = std::move(started).value();
    Observe();
    return Ok();
  }

  runtime::Control& control() { return relay_ ? relay_->control() : node_->control(); }

  void Observe() {
    metrics_.emplace(control(), runtime::MetricsLimits{.shard_series = options_.max_shard_series});
    routes_ = routing::RouteServer::Start(control());
    control().AddObserver(std::make_shared<HaltObserver>(ending_));
    if (events_file_ != nullptr) events_file_->Follow(control().history());
  }

  int MostDescriptors() const { return options_.relay ? kMaxOfRelay : kMaxOfNode; }
  int MostStreams() const { return options_.relay ? kMaxStreams : kMaxStreamsOfNode; }
  std::size_t MostMemory() const { return options_.relay ? kRelayMemory : kNodeMemory; }

  Status ServeGrpc() {
    grpc::ServerBuilder builder;
    SetServerLimits(
        builder,
        {.streams = MostStreams(), .memory = MostMemory(), .threads = kMaxThreadsOfReflection});
    runtime::PingCallers(builder);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdleMs);
    if (options_.tls_max_age.count() > 0) {
      const auto age = static_cast<int>(options_.tls_max_age.count());
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, age);
      builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, std::min(age, kMaxGraceMs));
    }
    connections_ = builder.experimental().AddExternalConnectionAcceptor(
        grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
        options_.tls ? TlsServerCredentials(options_.tls) : grpc::InsecureServerCredentials());
    admin_ = runtime::RegisterAdminService(
        builder, control(),
        {access_, callers_, options_.relay ? runtime::kRelayMakesNoChanges : ""},
        {.max_shard_series = options_.max_shard_series,
         .files = Files(),
         .tls = options_.tls,
         .exposed = Exposed()},
        audit_file_ ? audit_file_->Sinks() : runtime::Audit::Sinks{});
    routing_ = routing::RegisterRoutingService(builder, routes_, {access_, callers_});
    builder.experimental().SetInterceptorCreators(Interceptors());
    grpc_ = builder.BuildAndStart();
    if (grpc_ == nullptr) return Error{ErrorCode::kInternal, "gRPC's server can't be started"};
    grpc_->GetHealthCheckService()->SetServingStatus(false);
    const ConnectionListener::Bounds bounds{.most_descriptors = MostDescriptors(),
                                            .kept = static_cast<int>(http::kMaxConnections)};
    if (const Status done = ServeAdminSocket(bounds); !done) return done.error();
    auto listener = ConnectionListener::Start(
        reservation_->Release(), reservation_->address(), bounds,
        [this](int connection, int free) { return Take(connection, free); });
    if (!listener) return listener.error();
    listener_ = std::move(listener).value();
    grpc_address_ = http::FormatAddress({options_.listen.host, reservation_->port()});
    reservation_.reset();
    return Ok();
  }

  Status ServeAdminSocket(ConnectionListener::Bounds bounds) {
    if (options_.admin_socket.empty()) return Ok();
    auto serving = AdminSocket::Serve({.path = options_.admin_socket,
                                       .services = {&admin_->service(), &routing_->service()},
                                       .interceptors = Interceptors(),
                                       .bounds = bounds},
                                      *callers_);
    if (!serving) return serving.error();
    admin_socket_ = std::move(serving).value();
    return Ok();
  }

  ConnectionListener::Served Take(int connection, int free) {
    const auto caller = callers_->Note(connection, options_.listen.host);
    if (!caller) {
      close(connection);
      return ConnectionListener::Served::kTaken;
    }
    const auto served = shares_.Admit({connection, free}, *caller, BootClock::now());
    if (served == ConnectionListener::Served::kTaken) HandOver(connection, *connections_);
    return served;
  }

  std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>>
  Interceptors() {
    for (const char* service : {"baton.v1.AdminService", "baton.v1.RoutingService"}) {
      runtime::ExpectService(*calls_, service);
    }
    std::vector<std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>> all;
    all.push_back(runtime::CountCalls(calls_));
    all.push_back(CountOpenCalls(open_calls_, watch_.budget()));
    all.push_back(FreeRequests());
    return all;
  }

  void ServeHttp() {
    const auto process = std::make_shared<runtime::ProcessMetrics>(options_.node.group);
    const auto listener = MakeListenerMetrics(
        options_.node.group, {.most_descriptors = static_cast<std::size_t>(MostDescriptors()),
                              .streams = MostStreams(),
                              .memory = MostMemory(),
                              .refused = listener_->refused(),
                              .budget = watch_.budget(),
                              .open = open_calls_,
                              .unread = admin_->unread(),
                              .events = admin_->event_places(),
                              .routes = routing_->places(),
                              .access = access_});
    http::MetricsSources metrics{.node = {metrics_->node(), calls_, process, listener},
                                 .shards = {metrics_->shards()}};
    if (sidecar_ != nullptr) {
      metrics.node.push_back(sidecar::MakeSidecarMetrics(options_.node.group, *sidecar_));
    }
    http_->Serve(control(), std::move(metrics), routes_);
    log::Info("serving", {{"group", options_.node.group},
                          {"node", options_.node.node},
                          {"grpc", grpc_address_},
                          {"http", http_->address()},
                          {"state_dir", options_.relay ? "none" : options_.node.state_dir},
                          {"sidecar", sidecar_ == nullptr ? "none" : sidecar_->address()}});
  }

  /// The program's end doesn't prove that the attached process has ended: that may be another one,
  /// or one that left the program's group. Only the socket tells.
  Status StartCommand() {
    if (options_.command.empty()) return Ok();
    Status done = Ok();
    sidecar_->StartChild([&] {
      auto started = Command::Start(
          options_.command, sidecar_->address(),
          [ending = ending_, attachment = sidecar_->attachment()](const ExitStatus& how) {
            log::Info("the program has ended", {{"how", ToString(how)}});
            attachment->Advance();
            ending->Terminate(0);
          });
      if (!started) {
        done = started.error();
        return pid_t{0};
      }
      const pid_t pid = started.value()->pid();
      commands_->Set(std::move(started).value());
      log::Info("the program runs", {{"pid", pid}});
      return pid;
    });
    return done;
  }

  /// Passes on the signal that ends this process, and waits for the program without a bound.
  std::optional<ExitStatus> EndCommand() {
    Command* const command = commands_->Get();
    if (command == nullptr) return std::nullopt;
    const int signal = ending_->signal();
    command->Signal(signal != 0 ? signal : SIGTERM);
    return command->Wait();
  }

  void FollowFiles() {
    const TimePoint now = BootClock::now();
    if (now < next_look_at_files_) return;
    next_look_at_files_ = now + kLookAtFiles;
    access_file_.Look(*access_);
    certificates_.Look([this](const std::vector<std::string>& texts) {
      const Status set = options_.tls->Set({.ca = texts[0], .cert = texts[1], .key = texts[2]});
      if (set.ok()) WarnOfSecrets(options_.node.etcd);
      return set;
    });
    credentials_.Look([this](const std::vector<std::string>& texts) {
      const EtcdCredentials credentials{
          .password = texts[0], .ca_pem = texts[1], .cert_pem = texts[2], .key_pem = texts[3]};
      const Status taken = relay_ != nullptr ? relay_->SetEtcdCredentials(credentials)
                                             : node_->SetEtcdCredentials(credentials);
      if (taken.ok()) WarnOfSecrets(runtime::Renewed(options_.node.etcd, credentials));
      return taken;
    });
  }

  int Finish() {
    readiness_.Leave(LongestEnd(options_));
    std::optional<Error> failure = ending_->halted();
    if (!failure && node_ != nullptr) {
      const Status drained = node_->Drain();
      if (!drained) failure = drained.error();
    }
    const std::optional<ExitStatus> program = EndCommand();
    StopOwner();
    const int code = ConcludeEnd({.relay = options_.relay,
                                  .halted = ending_->halted().has_value(),
                                  .failure = failure,
                                  .program = program});
    const LastResort last_resort(kServersEnd, code);
    StopServers();
    return code;
  }

  // Answers the calls that still wait: gRPC's shutdown waits for every handler.
  void StopOwner() {
    if (node_ != nullptr) node_->Stop();
    if (relay_ != nullptr) relay_->Stop();
  }

  void StopServers() {
    if (routes_ != nullptr) routes_->Shutdown();
    listener_.reset();
    if (audit_file_ != nullptr) audit_file_->EndWaits();  // gRPC's shutdown waits for every handler
    admin_socket_.reset();
    if (grpc_ != nullptr) End(*grpc_);
    grpc_.reset();
    admin_.reset();
    routing_.reset();
    http_.reset();
    commands_->Set(nullptr);
    if (sidecar_ != nullptr) sidecar_->Stop();
  }

  const DaemonOptions options_;
  const std::shared_ptr<Ending> ending_ = std::make_shared<Ending>();
  Readiness readiness_;
  const std::shared_ptr<access::Access> access_;
  const std::shared_ptr<access::Callers> callers_ =
      std::make_shared<access::Callers>([access = access_](uid_t user) { access->Expect(user); });
  AccessFile access_file_;
  ReloadedFiles credentials_;
  ReloadedFiles certificates_;
  TimePoint next_look_at_files_{};
  std::optional<PortReservation> reservation_;
  const std::shared_ptr<RunningCommand> commands_ = std::make_shared<RunningCommand>();
  // Outlives what hands connections to gRPC, which may wait for it.
  ReceiveWatch watch_{options_.relay ? kBoundsOfRelay : ReceiveBudget::Bounds{}};
  std::unique_ptr<sidecar::Server> sidecar_;
  std::unique_ptr<Node> node_;  // either this or relay_; outlives its servers
  std::unique_ptr<runtime::Relay> relay_;
  std::unique_ptr<EventsFile> events_file_;
  std::unique_ptr<AuditFile> audit_file_;  // outlives the servers
  std::optional<runtime::Metrics> metrics_;
  std::unique_ptr<http::HttpServer> http_;
  std::shared_ptr<routing::RouteServer> routes_;
  const std::shared_ptr<runtime::ServerCalls> calls_ =
      std::make_shared<runtime::ServerCalls>(options_.node.group);
  std::unique_ptr<runtime::CountingAdminService> admin_;
  const std::shared_ptr<OpenCalls> open_calls_ = std::make_shared<OpenCalls>();
  std::unique_ptr<routing::CountingRoutingService> routing_;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> connections_;
  std::unique_ptr<grpc::Server> grpc_;
  ConnectionShares shares_{access_, watch_.budget()};  // only the listener's thread
  std::unique_ptr<ConnectionListener> listener_;
  std::unique_ptr<AdminSocket> admin_socket_;
  std::string grpc_address_;  // on which it listens
};

}  // namespace

int RunDaemon(const DaemonOptions& options) { return Daemon(options).Run(); }

}  // namespace baton::app
