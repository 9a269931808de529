// Server: listens for applications on this host, on a unix socket or a loopback port.
//
// On the unix socket it accepts connections itself, asks the kernel for the process at the other
// end, and gives each connection a gRPC server of its own. So the process of each stream is known
// for certain, and its attachment ends as soon as that process ends. TCP has no such proof. One
// thread waits for connections, for the ends of processes, and for deadlines.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <grpcpp/grpcpp.h>

#include "baton/result.h"
#include "sidecar/address.h"
#include "sidecar/attachment.h"
#include "sidecar/service.h"

namespace baton::sidecar {

/// The most connections to the unix socket at a time. More are closed at once.
inline constexpr std::size_t kMaxConnections = 16;

class Server {
 public:
  /// Does not listen yet. Start the node first: if another process is this node already, the node
  /// fails to start, and that process keeps its socket.
  explicit Server(AttachmentOptions options);
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
  /// The address for clients, with the port that was picked.
  std::string address() const { return FormatAddress(address_); }
  /// Calls `start`, which must start a child of this process and return its id. The child is known
  /// even if the kernel can't name the process of a connection (see PeerProcess); connections wait
  /// until `start` has returned. REQUIRES: called at most once.
  void StartChild(const std::function<pid_t()>& start);
  /// Ends every stream. Idempotent. REQUIRES: not called by several threads at once.
  void Stop();

 private:
  struct Connection {
    std::shared_ptr<const PeerProcess> peer;
    std::unique_ptr<Service> service;
    std::unique_ptr<grpc::Server> server;  ///< null once the connection has ended
    int socket = -1;                       ///< a duplicate, which shows the connection's end
  };

  Status ListenOnPath();
  Status ListenOnPort();
  void Loop();
  void Accept();
  std::shared_ptr<const PeerProcess> ProcessOf(int fd);
  void Handle(std::uint64_t tag);
  void Hang(std::uint64_t number);
  void DropPeersThatLeft();
  bool Watch(int fd, std::uint32_t events, std::uint64_t tag);

  Address address_;
  std::shared_ptr<int> wake_;  ///< an eventfd, closed by its last user
  std::shared_ptr<Attachment> attachment_;
  int listener_ = -1;
  int epoll_ = -1;
  bool owns_path_ = false;

  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> connections_refused_{0};
  std::mutex child_mutex_;
  std::shared_ptr<const PeerProcess> child_;  ///< guarded by child_mutex_
  std::unique_ptr<Service> port_service_;
  std::unique_ptr<grpc::Server> port_server_;
  // Only the thread uses these until it has ended.
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t next_number_ = 1;
  std::thread thread_;
};

}  // namespace baton::sidecar
