// Certificates of an authority of its own, made in memory, for tests, benches and the demo.
//
// One thread at a time. Aborts if OpenSSL fails.
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
  /// The issuer's own certificate is valid for an hour.
  explicit Issuer(const std::string& name);

  /// Makes a new key, and a certificate for it from this issuer. In the result, `ca` is the
  /// issuer's certificate. `alternatives`: the certificate's subjectAltName, in the form of
  /// openssl.cnf ("DNS:a,URI:spiffe://b/c"). `valid_for`: from now on; if it is negative, the
  /// certificate has expired.
  PemTexts Issue(const std::string& common_name, const std::string& alternatives = "",
                 std::chrono::seconds valid_for = std::chrono::hours(1)) const;
  const std::string& pem() const { return pem_; }

 private:
  std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)> key_;
  std::unique_ptr<X509, void (*)(X509*)> certificate_;
  std::string pem_;
};

}  // namespace baton::lab
