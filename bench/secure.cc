// Part (l): what TLS with client certificates costs the callers of a node, compared with none. Both
// servers and their callers are in this process, so the figures are of both sides together.
#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/clock.h"
#include "base/grpc/server_tls.h"
#include "baton/v1/routing.grpc.pb.h"
#include "bench/parts.h"
#include "lab/certificates.h"

namespace baton::bench {
namespace {

constexpr int kCalls = 5'000;
constexpr int kMessages = 50'000;
constexpr int kConnections = 200;

/// Answers lookups with an empty route, and writes kMessages routes to each stream.
class Service final : public v1::RoutingService::Service {
 public:
  grpc::Status Lookup(grpc::ServerContext*, const v1::LookupRequest*,
                      v1::LookupResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status WatchRoutes(grpc::ServerContext*, const v1::WatchRoutesRequest*,
                           grpc::ServerWriter<v1::WatchRoutesResponse>* writer) override {
    v1::WatchRoutesResponse one;
    one.set_group("bench");
    v1::Route& route = *one.add_routes();
    route.set_shard(7);
    route.set_leader(1);
    route.set_term(10);
    route.set_revision(10);
    for (int i = 0; i < kMessages; ++i) writer->Write(one);
    return grpc::Status::OK;
  }
};

/// A server and its callers, with TLS or without.
class Side {
 public:
  Side(std::shared_ptr<grpc::ServerCredentials> server,
       std::shared_ptr<grpc::ChannelCredentials> callers)
      : callers_(std::move(callers)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", server, &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr) throw std::runtime_error("can't serve gRPC on loopback");
  }
  ~Side() { server_->Shutdown(std::chrono::system_clock::now()); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  /// Microseconds of a call, one after another on one connection.
  double Call() const {
    const auto stub = Connect();
    Ask(*stub);
    return Each(kCalls, [&] { Ask(*stub); });
  }
  /// Microseconds of a message of a stream.
  double Message() const {
    const auto stub = Connect();
    grpc::ClientContext context;
    const TimePoint begun = BootClock::now();
    const auto stream = stub->WatchRoutes(&context, {});
    v1::WatchRoutesResponse message;
    int read = 0;
    while (stream->Read(&message)) ++read;
    if (!stream->Finish().ok() || read != kMessages) throw std::runtime_error("a stream failed");
    return Microseconds(BootClock::now() - begun) / kMessages;
  }
  /// Microseconds of a connection with its first call.
  double Connection() const {
    return Each(kConnections, [&] { Ask(*Connect()); });
  }

 private:
  static double Microseconds(Duration time) {
    return std::chrono::duration<double, std::micro>(time).count();
  }
  static double Each(int times, const std::function<void()>& work) {
    const TimePoint begun = BootClock::now();
    for (int i = 0; i < times; ++i) work();
    return Microseconds(BootClock::now() - begun) / times;
  }
  static void Ask(v1::RoutingService::Stub& stub) {
    grpc::ClientContext context;
    v1::LookupResponse response;
    const grpc::Status status = stub.Lookup(&context, {}, &response);
    if (!status.ok()) throw std::runtime_error("a call failed: " + status.error_message());
  }
  std::unique_ptr<v1::RoutingService::Stub> Connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::RoutingService::NewStub(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_), callers_, arguments));
  }

  const std::shared_ptr<grpc::ChannelCredentials> callers_;
  Service service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

std::shared_ptr<grpc::ServerCredentials> ServerWith(const lab::Issuer& issuer) {
  auto identity =
      ServerIdentity::Create(issuer.Issue("server", "IP:127.0.0.1"), ClientCertificates::kRequire);
  if (!identity) throw std::runtime_error(identity.error().message);
  return TlsServerCredentials(*identity);
}

std::shared_ptr<grpc::ChannelCredentials> CallersOf(const lab::Issuer& issuer) {
  const PemTexts texts = issuer.Issue("caller");
  return grpc::SslCredentials(
      {.pem_root_certs = texts.ca, .pem_private_key = texts.key, .pem_cert_chain = texts.cert});
}

}  // namespace

void MeasureTls(const Settings& settings, Report& report) {
  const lab::Issuer issuer("bench");
  const Side plain(grpc::InsecureServerCredentials(), grpc::InsecureChannelCredentials());
  const Side secure(ServerWith(issuer), CallersOf(issuer));
  const struct {
    const char* what;
    double (Side::*measure)() const;
  } figures[] = {{"a call on an open connection", &Side::Call},
                 {"a message of a stream of routes", &Side::Message},
                 {"a connection with its first call", &Side::Connection}};
  for (const auto& figure : figures) {
    Series without, with;
    for (int i = 0; i < settings.repeat; ++i) {
      without.Add((plain.*figure.measure)());
      with.Add((secure.*figure.measure)());
    }
    report.Add({"l", figure.what, "us", without});
    report.Add({"l", "  with TLS and a client certificate", "us", with});
    report.Add({"l", "  ratio", "x", Ratio(with, without)});
  }
}

}  // namespace baton::bench
