// ServerIdentity: the certificate that our servers show, and the authorities whose clients they
// serve. It can be replaced while they serve: new connections get the new one, open ones go on.
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
    std::uint64_t generation = 0;         ///< 1 at first, and one more with each change
    std::shared_ptr<ssl_ctx_st> context;  ///< of these texts
  };

  /// kInvalidArgument: the texts can't be used; a certificate and key must be there, and with
  /// kAsk and kRequire a CA.
  static Result<std::shared_ptr<ServerIdentity>> Create(PemTexts texts, ClientCertificates clients);

  /// For new connections. Error: as Create says; the earlier texts stay.
  Status Set(PemTexts texts);

  /// What new connections use now; never null. It stays as it is.
  std::shared_ptr<const Pems> Get() const;
  ClientCertificates clients() const { return clients_; }

 private:
  explicit ServerIdentity(ClientCertificates clients) : clients_(clients) {}

  const ClientCertificates clients_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Pems> pems_;  // guarded by mutex_; never null after Create
};

}  // namespace baton
