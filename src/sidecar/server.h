// Server: where an application on this host attaches: a unix socket or a loopback port.
//
// On the unix socket it accepts connections itself, asks the kernel for the process at the other
// end, and hands the connection to a gRPC server of its own, so that each stream is known to come
// from that very process; when that ends, its attachment is over at once. Over TCP there is no such
// proof. One thread of its own waits for connections, for the ends of processes, and for deadlines.
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

/// Connections to the unix socket at a time; more are closed at once.
inline constexpr std::size_t kMostConnections = 16;

class Server {
 public:
  /// Does not listen yet: a node that is started with the attachment first may find that another
  /// process is this node, and must not have taken that one's socket by then.
  explicit Server(AttachmentOptions options);
  /// Listens. kUnavailable: the address is taken, or can't be listened on, and why. A socket file
  /// that nobody listens on any more is replaced; the new one is its owner's alone (mode 600).
  /// REQUIRES: called once.
  Status Listen(const Address& address);
  /// Stops, and removes the socket file.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// For the node: see runtime::NodeWithApplication. May outlive this object.
  std::shared_ptr<Attachment> attachment() const { return attachment_; }
  /// Since the start. Any thread.
  SidecarBounds bounds() const;
  /// For clients; with the port that was picked.
  std::string address() const { return FormatAddress(address_); }
  /// Calls `start`, which starts a child of this process and returns its id. Where the kernel can't
  /// name the process of a connection (see PeerProcess) this child is known all the same:
  /// connections wait meanwhile. REQUIRES: called once at most.
  void StartChild(const std::function<pid_t()>& start);
  /// Ends every stream. Idempotent; not from several threads at once.
  void Stop();

 private:
  struct Connection {
    std::shared_ptr<const PeerProcess> peer;
    std::unique_ptr<Service> service;
    std::unique_ptr<grpc::Server> server;  ///< null once the connection has ended
    int socket = -1;                       ///< a duplicate, to see its end
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
  std::shared_ptr<int> wake_;  ///< an eventfd, closed by whoever needs it last
  std::shared_ptr<Attachment> attachment_;
  int listener_ = -1;
  int epoll_ = -1;
  bool owns_path_ = false;

  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> connections_refused_{0};
  std::mutex child_mutex_;
  std::shared_ptr<const PeerProcess> child_;  ///< guarded by it
  std::unique_ptr<Service> port_service_;
  std::unique_ptr<grpc::Server> port_server_;
  // The thread's alone until it has ended.
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t next_number_ = 1;
  std::thread thread_;
};

}  // namespace baton::sidecar
