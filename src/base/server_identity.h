// ServerIdentity: the certificate that our servers show, and the authorities whose clients they
// serve. Both can be replaced while the servers run. New connections use the new texts; open
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
    PemTexts texts;                       ///< ca: the authorities of clients' certificates
    std::uint64_t generation = 0;         ///< 1 at first, and one more after each Set that is OK
    std::shared_ptr<ssl_ctx_st> context;  ///< made from `texts` (ServerContext)
  };

  /// kInvalidArgument: certificate or key is missing, `clients` is kAsk or kRequire and there is no
  /// CA, or ServerContext refuses the texts.
  static Result<std::shared_ptr<ServerIdentity>> Create(PemTexts texts, ClientCertificates clients);

  /// Replaces the texts for new connections. Errors: as for Create; the earlier texts then stay. If
  /// two threads call it at once, the texts of either call may stay.
  Status Set(PemTexts texts);

  /// Returns the texts that new connections use now; never null, and never changed later.
  std::shared_ptr<const Pems> Get() const;
  ClientCertificates clients() const { return clients_; }

 private:
  explicit ServerIdentity(ClientCertificates clients) : clients_(clients) {}

  const ClientCertificates clients_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Pems> pems_;  // guarded by mutex_; never null after Create
};

}  // namespace baton
