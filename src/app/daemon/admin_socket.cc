#include "app/daemon/admin_socket.h"

#include <unistd.h>

#include <utility>

#include <fmt/format.h>

#include "base/log.h"
#include "base/unix_socket.h"

namespace baton::app {
namespace {

// Operators are served here when the port has no place even for them.
constexpr int kMoreThanThePort = 16;
constexpr std::chrono::minutes kSayStrangersAgain{1};

}  // namespace

AdminSocket::AdminSocket(std::string path, grpc::ServerBuilder& builder, access::Callers& callers)
    : path_(std::move(path)),
      server_(builder.experimental().AddExternalConnectionAcceptor(
          grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
          grpc::InsecureServerCredentials())) {
  callers.TrustUnixSockets();
}

// The order matters: once nobody listens, another process may take the path.
AdminSocket::~AdminSocket() {
  if (owns_path_) unlink(path_.c_str());
  listener_.reset();
}

Status AdminSocket::Listen(ConnectionListener::Bounds bounds) {
  const Result<int> bound = BindUnixSocket(path_);
  if (!bound) {
    return Error{ErrorCode::kUnavailable,
                 fmt::format("can't serve --admin-socket {}: {}", path_, bound.error().message)};
  }
  owns_path_ = true;
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
    return HandOver(connection, *server_);
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

}  // namespace baton::app
