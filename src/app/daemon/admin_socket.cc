#include "app/daemon/admin_socket.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "base/grpc/server_limits.h"
#include "base/log.h"
#include "base/unix_socket.h"
#include "runtime/admin/event_stream.h"

namespace baton::app {
namespace {

// Operators are served here when the port has no place even for them.
constexpr int kMoreThanThePort = 16;
constexpr std::chrono::minutes kSayStrangersAgain{1};
// How long calls in flight may go on when a server stops.
constexpr std::chrono::seconds kServerStop{1};

}  // namespace

Result<std::unique_ptr<AdminSocket>> AdminSocket::Serve(Options options, access::Callers& callers) {
  callers.TrustUnixSockets();
  std::unique_ptr<AdminSocket> made(new AdminSocket(options.path));
  if (const Status started = made->Start(std::move(options)); !started) return started.error();
  return made;
}

// The order matters: once nobody listens, another process may take the path.
AdminSocket::~AdminSocket() {
  if (owns_path_) unlink(path_.c_str());
  listener_.reset();
  if (server_ != nullptr) End(*server_);
}

Status AdminSocket::Start(Options options) {
  grpc::ServerBuilder builder;
  SetServerLimits(
      builder,
      {.streams = kMaxStreamsOfNode, .memory = kAdminMemory, .threads = kMaxThreadsOfReflection});
  runtime::PingCallers(builder);
  connections_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::InsecureServerCredentials());
  for (grpc::Service* const service : options.services) builder.RegisterService(service);
  builder.experimental().SetInterceptorCreators(std::move(options.interceptors));
  server_ = builder.BuildAndStart();
  if (server_ == nullptr) return Error{ErrorCode::kInternal, "gRPC's server can't be started"};
  health().SetServingStatus(false);
  const Result<int> bound = BindUnixSocket(path_);
  if (!bound) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("can't serve --admin-socket {}: {}", path_, bound.error().message)};
  }
  owns_path_ = true;
  ConnectionListener::Bounds bounds = options.bounds;
  bounds.most_descriptors += kMoreThanThePort;
  auto listener = ConnectionListener::Start(*bound, path_, bounds, [this](int connection, int) {
    Take(connection);
    return ConnectionListener::Served::kTaken;
  });
  if (!listener) return listener.error();
  listener_ = std::move(listener).value();
  return Ok();
}

// The file's mode keeps others out, unless somebody has changed it.
void AdminSocket::Take(int connection) {
  const access::Caller caller = access::CallerOfConnection(connection);
  if (caller.user && (*caller.user == 0 || *caller.user == geteuid())) {
    return HandOver(connection, *connections_);
  }
  close(connection);
  const auto now = std::chrono::steady_clock::now();
  if (now < quiet_until_) return;
  quiet_until_ = now + kSayStrangersAgain;
  log::Warn("--admin-socket is for batond's own user and root; another user connected to it",
            {{"by", access::NameOf(caller)}});
}

void HandOver(int connection, grpc::experimental::ExternalConnectionAcceptor& server) {
  grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters taken;
  taken.fd = connection;
  server.HandleNewConnection(&taken);
}

void End(grpc::Server& server) {
  server.Shutdown(std::chrono::system_clock::now() + kServerStop);
  server.Wait();
}

}  // namespace baton::app
