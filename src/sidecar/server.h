// Server: listens for applications on this host, on a unix socket or a loopback port.
//
// It accepts connections itself, and asks the kernel for the user at the other end. A caller needs
// the role kLead to attach. Each connection has a gRPC server of its own, so the user of a stream
// is known for certain. One thread waits for connections, ends of processes and deadlines.
//
// On the unix socket the process is known, too, if the kernel can name it (see PeerProcess) and the
// hello has its process id. Then the application becomes absent as soon as its process ends. TCP
// has no proof of this kind. A port may have TLS; then the client's certificate may also give the
// role.
//
// Call methods from one thread at a time, except attachment() and bounds().
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
#include "base/receive_budget.h"
#include "base/server_identity.h"
#include "baton/result.h"
#include "sidecar/address.h"
#include "sidecar/attachment.h"
#include "sidecar/complaints.h"
#include "sidecar/denied_pace.h"
#include "sidecar/service.h"

namespace baton::sidecar {

/// The most connections at a time. One more connection is closed at once. A connection without a
/// stream is closed after half a minute.
inline constexpr std::size_t kMaxConnections = 16;
/// How many of these connections may have callers who are not known to have the role kLead. Such a
/// caller may still get the role: by a certificate, or by a group that the host's user database
/// names later. Otherwise the caller's stream gets an error that says why. If the user is known to
/// lack the role and no certificate can help, DeniedPace also bounds such connections in each
/// second; more of them are closed at once.
inline constexpr std::size_t kMaxDenied = 4;

/// TLS of a port. A connection's handshake uses the texts that `identity` has when the connection
/// is accepted.
struct PortTls {
  std::shared_ptr<const ServerIdentity> identity = {};  ///< null: no TLS
  /// About how long a connection lasts; 0: no bound. After that time its stream may go on for the
  /// same time again, at most for 30 s. Then the stream ends, and the application attaches again.
  /// REQUIRES (not checked): at most 24 days.
  std::chrono::milliseconds max_age{0};
};

class Server {
 public:
  /// Does not listen yet. A unix socket ignores `tls` and `budget`. If `budget` is not null, it
  /// bounds what callers send to a port. The budget counts a connection whose user is not known to
  /// have the role kLead when the connection is accepted, until a stream begins whose caller has
  /// the role. REQUIRES: `access` is not null.
  Server(AttachmentOptions options, std::shared_ptr<const access::Access> access, PortTls tls = {},
         std::shared_ptr<ReceiveBudget> budget = nullptr);
  /// Listens, and returns at once. Replaces a socket file that nobody listens on; the new file has
  /// mode 600. Start the node before Listen. If another process holds the node's state directory,
  /// the start fails, and that process keeps its socket. kUnavailable: the server can't listen on
  /// the address, for example because another process does; the message says why. Throws
  /// std::system_error if the host has no thread left. REQUIRES: called only once, even if it
  /// fails.
  Status Listen(const Address& address);
  /// Calls Stop.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// The application for runtime::NodeWithApplication. It may outlive this object. Any thread.
  std::shared_ptr<Attachment> attachment() const { return attachment_; }
  /// The counts so far. Any thread.
  SidecarBounds bounds() const;
  /// The address for clients, with the real port. REQUIRES: Listen has succeeded.
  std::string address() const { return FormatAddress(address_); }
  /// Calls `start`, which starts a child of this process and returns its id, or 0 if the start
  /// failed. After that the child's death can be proven even if the kernel can't name the process
  /// of a connection (see PeerProcess). On such a kernel, if a connection to the unix socket comes
  /// while `start` runs, the server's thread waits for `start`. REQUIRES: called at most once; the
  /// child is not reaped before `start` has returned.
  void StartChild(const std::function<pid_t()>& start);
  /// Ends every stream, waits until all streams have ended, closes all connections, and removes the
  /// socket file. No application can attach later. Later calls do nothing. If Listen did not
  /// succeed, attachment() is not ended.
  void Stop();

 private:
  struct Connection {
    std::shared_ptr<const PeerProcess> peer;
    /// Whether the caller is known to have the role kLead. The service and the budget share this.
    std::shared_ptr<std::atomic<bool>> may_attach;
    bool denied = false;  ///< its caller is counted as one without the role
    std::unique_ptr<Service> service;
    std::unique_ptr<grpc::Server> server;  ///< null once the connection has ended
    int socket = -1;                       ///< a duplicate, which shows the connection's end
  };

  Status ListenOnPath();
  Status ListenOnPort();
  void Loop();
  void Accept();
  bool AsksForCertificates() const;
  bool HasRoom(const access::Caller& caller, bool may_attach);
  bool IsWeighed(int fd, const access::Caller& caller,
                 std::shared_ptr<const std::atomic<bool>> may_attach);
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
  const std::shared_ptr<ReceiveBudget> budget_;
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
  DeniedPace denied_pace_;
  std::uint64_t next_number_ = 1;
  std::thread thread_;
};

}  // namespace baton::sidecar
