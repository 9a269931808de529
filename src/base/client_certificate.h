// ClientCertificate: the part of a client's certificate that a server keeps after the handshake has
// checked it. A connection may go on after its client's certificate has expired. So the end of the
// certificate's validity is kept beside the name.
//
// Pure, thread-safe.
#pragma once

#include <chrono>
#include <string>

struct x509_st;  // OpenSSL's X509

namespace baton {

struct ClientCertificate {
  std::string name = {};  ///< NameInCertificate (pem.h); empty: no name, or no certificate
  /// From this time on, the certificate is not valid. An end after the year 2216 is moved to that
  /// year. max(): no certificate.
  std::chrono::system_clock::time_point until = std::chrono::system_clock::time_point::max();

  bool operator==(const ClientCertificate&) const = default;
};

/// Reads the name and the end. If the end can't be read, `until` is in the past.
ClientCertificate ReadClientCertificate(const x509_st& certificate);
/// Reads the first certificate of a PEM text, and ignores the others. If there is no certificate or
/// the first one can't be read, the name is empty and `until` is in the past.
ClientCertificate ReadClientCertificate(const std::string& pem);

}  // namespace baton
