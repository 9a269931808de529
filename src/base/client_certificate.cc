#include "base/client_certificate.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <memory>

#include "base/pem.h"

namespace baton {
namespace {

using Clock = std::chrono::system_clock;

Clock::time_point EndOf(const X509& certificate) {
  // A certificate may name the year 9999, which the clock can't hold.
  constexpr int kMaxDays = 90'000;
  const std::unique_ptr<ASN1_TIME, void (*)(ASN1_TIME*)> epoch(ASN1_TIME_set(nullptr, 0),
                                                               ASN1_TIME_free);
  int days = 0;
  int seconds = 0;
  const bool read = epoch != nullptr && ASN1_TIME_diff(&days, &seconds, epoch.get(),
                                                       X509_get0_notAfter(&certificate)) == 1;
  ERR_clear_error();
  if (!read || days < 0) return Clock::time_point::min();
  return Clock::time_point{} + std::chrono::days(std::min(days, kMaxDays)) +
         std::chrono::seconds(seconds);
}

}  // namespace

ClientCertificate ReadClientCertificate(const x509_st& certificate) {
  return {.name = NameInCertificate(certificate), .until = EndOf(certificate)};
}

ClientCertificate ReadClientCertificate(const std::string& pem) {
  const std::unique_ptr<BIO, int (*)(BIO*)> from(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  // Without this, OpenSSL would ask at the terminal for the password of an encrypted text.
  const auto no_password = [](char*, int, int, void*) { return -1; };
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      PEM_read_bio_X509(from.get(), nullptr, no_password, nullptr), X509_free);
  ERR_clear_error();
  if (certificate == nullptr) return {.until = Clock::time_point::min()};
  return ReadClientCertificate(*certificate);
}

}  // namespace baton
