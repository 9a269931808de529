// ServerIdentity: the certificate that our servers show, and the authorities (CAs) whose clients
// they serve. Both can be replaced while the servers run. New connections use the new texts; open
// connections go on.
//
// Thread-safe; waits only for a short lock.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/pem.h"
#include "baton/result.h"

namespace baton {

class ServerIdentity {
 public:
  struct Pems {
    PemTexts texts;                       ///< `ca`: the authorities of clients' certificates
    std::uint64_t generation = 0;         ///< 1 at first; each Set that returns OK adds 1
    std::shared_ptr<ssl_ctx_st> context;  ///< made from `texts` (ServerContext)
  };

  /// kInvalidArgument: `texts` has no certificate or no key, ServerContext (pem.h) refuses `texts`,
  /// or `texts` has no CA although `clients` is kAsk or kRequire.
  static Result<std::shared_ptr<ServerIdentity>> Create(PemTexts texts, ClientCertificates clients);

  /// Replaces the texts for new connections. Errors: as for Create; then the earlier texts stay. If
  /// two threads call Set at once, the texts of either call may stay.
  Status Set(PemTexts texts);

  /// Returns the texts that new connections use now. The result is never null, and never changes.
  std::shared_ptr<const Pems> Get() const;
  ClientCertificates clients() const { return clients_; }

 private:
  explicit ServerIdentity(ClientCertificates clients) : clients_(clients) {}

  const ClientCertificates clients_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Pems> pems_;  // guarded by mutex_; never null after Create
};

}  // namespace baton
