// ClientCertificate: what a server keeps of a client's certificate once the handshake has checked
// it. The handshake is over in a moment, but its connection may outlast the certificate. So the end
// of the certificate's validity is kept beside its name.
//
// Pure, thread-safe.
#pragma once

#include <chrono>
#include <string>

struct x509_st;  // OpenSSL's X509

namespace baton {

struct ClientCertificate {
  std::string name = {};  ///< NameInCertificate; empty: no name, or no certificate
  /// The certificate is not valid from this time on.
  std::chrono::system_clock::time_point until = std::chrono::system_clock::time_point::max();

  bool operator==(const ClientCertificate&) const = default;
};

/// Reads the name and the end. If the end can't be read, `until` is in the past.
ClientCertificate ReadClientCertificate(const x509_st& certificate);
/// The same for the first certificate of a PEM text; ignores the others. If there is no
/// certificate, or the first one can't be read, the name is empty, and `until` is in the past.
ClientCertificate ReadClientCertificate(const std::string& pem);

}  // namespace baton
