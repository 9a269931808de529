// Issuer: a certificate authority in memory, for tests, benches and the demo.
//
// All Issuers of a process share a counter, so only one thread at a time may use any of them. The
// functions abort the process if OpenSSL fails, for example because `alternatives` is malformed.
// But a common name of more than 64 characters is silently left out.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "base/pem.h"

namespace baton::lab {

class Issuer {
 public:
  /// Makes a new key and the authority's own certificate, which is valid for an hour. `name`: the
  /// authority's common name.
  explicit Issuer(const std::string& name);

  /// Makes a new key, and a certificate for this key. In the result, `ca` is the authority's
  /// certificate. `common_name`: the certificate's CN; empty: it has no CN. `alternatives`: the
  /// certificate's subjectAltName, in the form of openssl.cnf ("DNS:a,URI:spiffe://b/c"); empty: it
  /// has no subjectAltName. `valid_for`: how long the certificate is valid from now on; negative:
  /// it has expired already. The validity begins a minute before now, or an hour before its end if
  /// that is earlier.
  PemTexts Issue(const std::string& common_name, const std::string& alternatives = "",
                 std::chrono::seconds valid_for = std::chrono::hours(1)) const;
  /// The authority's certificate.
  const std::string& pem() const { return pem_; }

 private:
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> certificate_;
  std::string pem_;
};

}  // namespace baton::lab
