// Server: listens for applications on this host, on a unix socket or a loopback port.
//
// It accepts connections itself, and asks the kernel for the user at the other end, who needs the
// role kLead to attach. Each connection has a gRPC server of its own, so the user of a stream is
// known for certain. On the unix socket the process is known, too, so its attachment ends as soon
// as that process ends. TCP has no such proof; a port may have TLS, and then the client's
// certificate may give the role. One thread waits for connections, for the ends of processes, and
// for deadlines.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "access/access.h"
#include "base/server_identity.h"
#include "baton/result.h"
#include "sidecar/address.h"
#include "sidecar/attachment.h"
#include "sidecar/complaints.h"
#include "sidecar/service.h"

namespace baton::sidecar {

/// The most connections at a time, and how many of them may be of users who may not attach. These
/// users get an error that says why, unless their certificate gives them the role. More connections
/// are closed at once. A connection without a stream is closed after half a minute.
inline constexpr std::size_t kMaxConnections = 16;
inline constexpr std::size_t kMaxDenied = 4;

/// TLS of a port. A connection shakes hands with what `identity` holds when it is accepted.
struct PortTls {
  std::shared_ptr<const ServerIdentity> identity = {};  ///< null: none
  /// About how long a connection lasts; its stream may go on for as long again, 30 s at most. 0:
  /// without a bound.
  std::chrono::milliseconds max_age{0};
};

class Server {
 public:
  /// Does not listen yet. Start the node first: if another process is this node already, the node
  /// fails to start, and that process keeps its socket. A unix socket never has `tls`.
  Server(AttachmentOptions options, std::shared_ptr<const access::Access> access, PortTls tls = {});
  /// Listens. kUnavailable: the address can't be listened on; the message says why. Replaces a
  /// socket file that nobody listens on. The new file has mode 600. REQUIRES: called once.
  Status Listen(const Address& address);
  /// Calls Stop, which removes the socket file.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The application for runtime::NodeWithApplication. May outlive this object.
  std::shared_ptr<Attachment> attachment() const { return attachment_; }
  /// Counts since the start. Any thread.
  SidecarBounds bounds() const;
  /// The address for clients, with the port that was picked, once it listens.
  std::string address() const { return FormatAddress(address_); }
  /// Calls `start`, which must start a child of this process and return its id, or 0 if it could
  /// not. The child is known even if the kernel can't name the process of a connection (see
  /// PeerProcess); connections wait until `start` has returned. REQUIRES: called at most once.
  void StartChild(const std::function<pid_t()>& start);
  /// Ends every stream, waits for their ends, and closes all connections. After that no application
  /// can attach. Idempotent. REQUIRES: not called by several threads at once.
  void Stop();

 private:
  struct Connection {
    std::shared_ptr<const PeerProcess> peer;
    bool denied = false;  ///< its user might not attach when it was accepted
    std::unique_ptr<Service> service;
    std::unique_ptr<grpc::Server> server;  ///< null once the connection has ended
    int socket = -1;                       ///< a duplicate, which shows the connection's end
  };

  Status ListenOnPath();
  Status ListenOnPort();
  void Loop();
  void Accept();
  bool AsksForCertificates() const;
  bool HasRoom(const access::Caller& caller, bool denied);
  void Serve(std::uint64_t number, int fd, const access::Caller& caller);
  std::shared_ptr<const PeerProcess> ProcessOf(int fd);
  void Handle(std::uint64_t tag);
  void Hang(std::uint64_t number);
  void DropPeersThatLeft();
  bool Watch(int fd, std::uint32_t events, std::uint64_t tag);

  Address address_;
  std::shared_ptr<int> wake_;  ///< an eventfd, closed by its last user
  std::shared_ptr<Attachment> attachment_;
  const std::shared_ptr<const access::Access> access_;
  const PortTls tls_;
  const std::shared_ptr<Complaints> complaints_ = std::make_shared<Complaints>();
  int listener_ = -1;
  int epoll_ = -1;
  bool owns_path_ = false;

  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> connections_refused_{0};
  std::mutex child_mutex_;
  std::shared_ptr<const PeerProcess> child_;  ///< guarded by child_mutex_
  // Only the thread uses these until it has ended.
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t next_number_ = 1;
  std::thread thread_;
};

}  // namespace baton::sidecar
