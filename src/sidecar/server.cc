#include "sidecar/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/server_posix.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/descriptors.h"
#include "base/grpc/server_limits.h"
#include "base/grpc/server_tls.h"
#include "base/log.h"
#include "base/unix_socket.h"

namespace baton::sidecar {
namespace {

using std::chrono::milliseconds;

// Tags of epoll events: the kind, and the connection's number.
enum Tag : std::uint64_t { kListener, kWoken, kProcess, kSocket };
constexpr std::uint64_t kTags = 4;

// A process closes its sockets a moment before the kernel reports its end.
constexpr milliseconds kDying{50};
// The pause after no descriptor was free.
constexpr std::chrono::duration<int, std::milli> kNoDescriptors{50};
// Pings detect an application that hangs, within the sum of both times.
constexpr int kPingEvery = 5'000;
constexpr int kPingPatience = 5'000;
constexpr int kMaxStreams = 16;
// An application sends at most 10,000 answers at once.
constexpr int kMaxMessage = 4 << 20;
// Of one connection, as each has a server of its own; and of one whose user is not known to have
// the right to attach.
constexpr std::size_t kMemory = 32 << 20;
constexpr std::size_t kMemoryOfStranger = 4 << 20;
// In bytes. An application that only learns why it may not attach has no more to send than gRPC's
// greeting and a call of some hundred bytes.
constexpr std::int64_t kMaxSentByStranger = 64 << 10;
constexpr int kMaxIdle = 30'000;
// TLS: until the handshake is done, and how long a stream may go on once its connection is old.
constexpr int kHandshake = 10'000;
constexpr int kMaxGrace = 30'000;
constexpr int kBacklog = 128;
constexpr int kReceiveBuffer = 16 << 10;  // the kernel doubles it

Error Failed(const Address& address, const std::string& why) {
  return Error{ErrorCode::kUnavailable,
               fmt::format("can't serve the sidecar on {}: {}", FormatAddress(address), why)};
}

/// Takes reflection away, which --grpc-reflection gives to each server of the process. Each of its
/// streams holds a thread, and here each connection has a server.
struct WithoutReflection : grpc::ServerBuilderOption {
  void UpdateArguments(grpc::ChannelArguments* /*arguments*/) override {}
  void UpdatePlugins(std::vector<std::unique_ptr<grpc::ServerBuilderPlugin>>* plugins) override {
    plugins->clear();
  }
};

void Configure(grpc::ServerBuilder& builder, Service& service, const grpc::ResourceQuota& memory) {
  builder.RegisterService(&service);
  builder.SetOption(std::make_unique<WithoutReflection>());
  SetServerLimits(builder, {.message = kMaxMessage, .streams = kMaxStreams});
  builder.SetResourceQuota(memory);  // instead of that of the limits, because it may grow
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kPingEvery);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingPatience);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdle);
}

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

/// Takes the one connection of a server with TLS.
std::unique_ptr<Acceptor> AddTls(grpc::ServerBuilder& builder, const PortTls& tls) {
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshake);
  if (tls.max_age.count() > 0) {
    const auto age = static_cast<int>(tls.max_age.count());
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, age);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS, std::min(age, kMaxGrace));
  }
  return builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      TlsServerCredentialsOfNow(*tls.identity));
}

void End(grpc::Server& server) {
  server.Shutdown(std::chrono::system_clock::now());
  server.Wait();
}

sockaddr_storage NameOf(const Address& address) {
  sockaddr_storage name{};
  auto& four = reinterpret_cast<sockaddr_in&>(name);
  auto& six = reinterpret_cast<sockaddr_in6&>(name);
  if (inet_pton(AF_INET, address.host.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(address.port);
  } else {
    inet_pton(AF_INET6, address.host.c_str(), &six.sin6_addr);
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(address.port);
  }
  return name;
}

std::uint16_t PortOf(const sockaddr_storage& name) {
  return ntohs(name.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(name).sin_port
                                         : reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
}

}  // namespace

Server::Server(AttachmentOptions options, std::shared_ptr<const access::Access> access, PortTls tls,
               std::shared_ptr<ReceiveBudget> budget)
    : wake_(new int(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
            [](int* fd) {
              close(*fd);
              delete fd;
            }),
      attachment_(std::make_shared<Attachment>(
          std::move(options), Clock::Real(),
          [wake = wake_] { [[maybe_unused]] const int written = eventfd_write(*wake, 1); })),
      access_(std::move(access)),
      tls_(std::move(tls)),
      budget_(std::move(budget)) {}

Status Server::Listen(const Address& address) {
  address_ = address;
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  Status listening = address_.path.empty() ? ListenOnPort() : ListenOnPath();
  if (!listening) return listening;
  if (!Watch(*wake_, EPOLLIN, kWoken) || !Watch(listener_, EPOLLIN, kListener))
    return Failed(address_, std::strerror(errno));
  thread_ = std::thread([this] { Loop(); });
  return Ok();
}

void Server::StartChild(const std::function<pid_t()>& start) {
  const std::lock_guard lock(child_mutex_);
  child_ = PeerProcess::OfChild(start());
}

Status Server::ListenOnPath() {
  const Result<int> bound = BindUnixSocket(address_.path);
  if (!bound) return Failed(address_, bound.error().message);
  listener_ = *bound;
  owns_path_ = true;
  if (listen(listener_, kBacklog) != 0) return Failed(address_, std::strerror(errno));
  return Ok();
}

Status Server::ListenOnPort() {
  sockaddr_storage name = NameOf(address_);
  socklen_t size = sizeof name;
  auto* const address = reinterpret_cast<sockaddr*>(&name);
  listener_ = socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener_ < 0) return Failed(address_, std::strerror(errno));
  // Otherwise connections of an earlier process that are still closing would hold the port.
  const int on = 1;
  setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  // If a stranger's connection is ended, the bytes that gRPC has read before still cost time.
  // Connections have the listener's.
  setsockopt(listener_, SOL_SOCKET, SO_RCVBUF, &kReceiveBuffer, sizeof kReceiveBuffer);
  if (bind(listener_, address, size) != 0 || listen(listener_, kBacklog) != 0 ||
      getsockname(listener_, address, &size) != 0) {
    if (errno != EADDRINUSE) return Failed(address_, std::strerror(errno));
    return Failed(address_, "the port is taken; give another, or 0 for any");
  }
  address_.port = PortOf(name);
  if (tls_.identity == nullptr) {
    log::Warn(
        "the sidecar's port has no TLS: while batond is away, any user of this host can take it "
        "and tell the application what to lead; see docs/security.md, Who serves an application");
  }
  return Ok();
}

Server::~Server() {
  Stop();
  if (epoll_ >= 0) close(epoll_);
}

void Server::Stop() {
  if (thread_.joinable()) {
    attachment_->End();
    stopping_.store(true);
    [[maybe_unused]] const int written = eventfd_write(*wake_, 1);
    thread_.join();
  }
  connections_.clear();
  // The order matters: once nobody listens, another process may take the path.
  if (std::exchange(owns_path_, false)) unlink(address_.path.c_str());
  if (listener_ >= 0) close(std::exchange(listener_, -1));
}

SidecarBounds Server::bounds() const {
  SidecarBounds bounds = attachment_->bounds();
  bounds.connections = connections_refused_;
  bounds.denied = complaints_->denied();
  return bounds;
}

bool Server::Watch(int fd, std::uint32_t events, std::uint64_t tag) {
  epoll_event event{.events = events, .data = {.u64 = tag}};
  return epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) == 0;
}

// ---- the thread --------------------------------------------------------------------------------

void Server::Loop() {
  while (!stopping_.load()) {
    const TimePoint next = attachment_->Advance();
    int patience = -1;
    if (next != TimePoint::max()) {
      const auto left = std::chrono::ceil<milliseconds>(next - BootClock::now()).count();
      patience = static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
    }
    std::array<epoll_event, 16> events{};
    const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), patience);
    for (int i = 0; i < count; ++i) Handle(events.at(static_cast<std::size_t>(i)).data.u64);
    DropPeersThatLeft();
  }
  for (auto& [number, connection] : connections_) {
    if (connection.server != nullptr) End(*connection.server);
    if (connection.socket >= 0) close(connection.socket);
  }
}

void Server::Handle(std::uint64_t tag) {
  const auto found = connections_.find(tag / kTags);
  switch (tag % kTags) {
    case kListener: return Accept();
    case kWoken: {
      eventfd_t times = 0;
      [[maybe_unused]] const int read = eventfd_read(*wake_, &times);
      return;
    }
    case kProcess:
      if (found == connections_.end()) return;
      epoll_ctl(epoll_, EPOLL_CTL_DEL, found->second.peer->pidfd(), nullptr);
      attachment_->Advance();
      return Hang(found->first);  // another process may hold its socket: it is not the known one
    case kSocket:
      if (found != connections_.end()) Hang(found->first);
      return;
    default: return;
  }
}

void Server::Accept() {
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (fd < 0) {
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    poll(nullptr, 0, kNoDescriptors.count());  // the listener stays readable: this would spin
    return;
  }
  const access::Caller caller = access::CallerOfConnection(fd);
  char byte = 0;
  // Somebody only looked whether the port is open, and is gone.
  if (caller.peer.empty() || recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
    close(fd);
    return;
  }
  const auto refusal = access_->Refusal(caller, access::Role::kLead);
  // Otherwise the certificate may give the role, or a group, once the user's groups are known.
  const bool denied =
      refusal && refusal->why != access::Refused::Why::kUnknown && !AsksForCertificates();
  if (denied) complaints_->SayDenied(caller);
  if (denied && !denied_pace_.Answers(access::LimitedAs(caller), BootClock::now())) {
    ++connections_refused_;
    close(fd);
    return;
  }
  const auto may_attach = std::make_shared<std::atomic<bool>>(!refusal);
  if (!HasRoom(caller, !refusal) || (refusal && !IsWeighed(fd, caller, may_attach))) {
    close(fd);
    return;
  }
  const std::uint64_t number = next_number_++;
  Connection& connection = connections_[number];
  connection.may_attach = may_attach;
  connection.denied = denied;
  Serve(number, fd, caller);
}

void Server::Serve(std::uint64_t number, int fd, const access::Caller& caller) {
  const bool tcp = address_.path.empty();
  const int on = 1;
  if (tcp) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  Connection& connection = connections_.at(number);
  connection.peer = tcp ? nullptr : ProcessOf(fd);
  const bool small = !*connection.may_attach && !AsksForCertificates();
  const auto memory = std::make_shared<grpc::ResourceQuota>("sidecar");
  memory->Resize(small ? kMemoryOfStranger : kMemory);
  connection.service = std::make_unique<Service>(
      attachment_, access_,
      Service::Peer{.process = connection.peer,
                    .caller = caller,
                    .complaints = connection.denied ? nullptr : complaints_,
                    .may_attach = [may_attach = connection.may_attach, memory] {
                      if (!may_attach->exchange(true)) memory->Resize(kMemory);
                    }});
  grpc::ServerBuilder builder;
  Configure(builder, *connection.service, *memory);
  const bool tls = tcp && tls_.identity != nullptr;
  const std::unique_ptr<Acceptor> acceptor = tls ? AddTls(builder, tls_) : nullptr;
  connection.server = builder.BuildAndStart();
  // Both are watched before the first message, so no later event is missed.
  connection.socket = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  bool watched = connection.server != nullptr && connection.socket >= 0 &&
                 Watch(connection.socket, EPOLLRDHUP, number * kTags + kSocket);
  if (connection.peer != nullptr) {
    watched = watched && Watch(connection.peer->pidfd(), EPOLLIN, number * kTags + kProcess);
  }
  if (!watched) {
    complaints_->Say("a connection to the sidecar could not be served", caller);
    close(fd);
    return Hang(number);
  }
  if (acceptor == nullptr) return grpc::AddInsecureChannelFromFd(connection.server.get(), fd);
  Acceptor::NewConnectionParameters taken;
  taken.fd = fd;
  acceptor->HandleNewConnection(&taken);
}

// Then a connection's user does not decide whether it may attach, and its certificate is shown
// later.
bool Server::AsksForCertificates() const {
  return address_.path.empty() && tls_.identity != nullptr &&
         tls_.identity->clients() != ClientCertificates::kNone;
}

// Users who may not attach can't use up the places of those who may.
bool Server::HasRoom(const access::Caller& caller, bool may_attach) {
  std::size_t open = 0;
  std::size_t strangers = 0;
  for (const auto& [number, connection] : connections_) {
    if (connection.server == nullptr) continue;
    ++open;
    strangers += *connection.may_attach ? 0 : 1;
  }
  if (open < kMaxConnections && (may_attach || strangers < kMaxDenied)) return true;
  ++connections_refused_;
  complaints_->Say("too many connections to the sidecar; one was closed", caller);
  return false;
}

// Whether what the caller sends counts until it may attach, or nobody wants that; and not if the
// caller has sent too much already.
bool Server::IsWeighed(int fd, const access::Caller& caller,
                       std::shared_ptr<const std::atomic<bool>> may_attach) {
  if (budget_ == nullptr || !address_.path.empty()) return true;
  const std::string name = access::LimitedAs(caller);
  if (!budget_->IsBarred(name, BootClock::now()) &&
      budget_->Add(
          fd, name, LeastReserved(),
          {.most = kMaxSentByStranger, .calls_count = false, .trusted = std::move(may_attach)}))
    return true;
  ++connections_refused_;
  return false;
}

std::shared_ptr<const PeerProcess> Server::ProcessOf(int fd) {
  if (auto peer = PeerProcess::OfSocket(fd)) return peer;
  const std::lock_guard lock(child_mutex_);
  return child_ == nullptr ? nullptr : PeerProcess::OfSocket(fd, *child_);
}

// The connection has ended, perhaps because its process is ending.
void Server::Hang(std::uint64_t number) {
  Connection& connection = connections_.at(number);
  if (connection.peer != nullptr && connection.peer->ProvenDead(kDying)) attachment_->Advance();
  if (connection.socket >= 0) {
    epoll_ctl(epoll_, EPOLL_CTL_DEL, connection.socket, nullptr);  // gRPC's duplicate stays open
    close(std::exchange(connection.socket, -1));
  }
  if (connection.server != nullptr) End(*connection.server);
  connection.server.reset();
  connection.service.reset();
}

// Keeps watching a process that may still act, even without a connection.
void Server::DropPeersThatLeft() {
  const auto present = attachment_->peer();
  for (auto next = connections_.begin(); next != connections_.end();) {
    const auto entry = next++;
    const auto& [server, peer] = std::tie(entry->second.server, entry->second.peer);
    if (server != nullptr || (peer != nullptr && peer == present)) continue;
    // Closing is not enough: a child's duplicated descriptors share one open file, which stays
    // open.
    if (peer != nullptr) epoll_ctl(epoll_, EPOLL_CTL_DEL, peer->pidfd(), nullptr);
    connections_.erase(entry);
  }
}

}  // namespace baton::sidecar
