#include "etcd/grpc/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace baton::etcd {
namespace {

template <auto Free>
struct Freed {
  template <typename Value>
  void operator()(Value* value) const {
    Free(value);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;

Error Unusable(const std::string& message) { return Error{ErrorCode::kInvalidArgument, message}; }

Bio Open(const std::string& text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

bool IsPem(const std::string& text) { return text.find("-----BEGIN ") != std::string::npos; }

// A daemon can't use a key with a password; without this callback OpenSSL would ask the terminal.
// It doesn't offer an empty password either, which OpenSSL would hash for as many rounds as the
// text says.
int NoPassword(char*, int, int, void*) { return -1; }

/// All certificates of a text; empty if one of them can't be read.
std::vector<Certificate> Certificates(const std::string& text) {
  std::vector<Certificate> all;
  const Bio input = Open(text);
  while (X509* const next = PEM_read_bio_X509(input.get(), nullptr, NoPassword, nullptr)) {
    all.emplace_back(next);
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  if (!at_end) all.clear();
  return all;
}

Status CheckCa(const std::string& text) {
  if (!IsPem(text)) return Unusable("the CA certificate is not PEM text");
  if (Certificates(text).empty()) return Unusable("the CA certificate's PEM text can't be read");
  return Ok();
}

Status CheckPair(const std::string& cert_text, const std::string& key_text) {
  if (!IsPem(cert_text)) return Unusable("the client certificate is not PEM text");
  if (!IsPem(key_text)) return Unusable("the client key is not PEM text");
  const std::vector<Certificate> chain = Certificates(cert_text);
  if (chain.empty()) return Unusable("the client certificate's PEM text can't be read");
  const Bio input = Open(key_text);
  const Key key(PEM_read_bio_PrivateKey(input.get(), nullptr, NoPassword, nullptr));
  const bool fits = key != nullptr && X509_check_private_key(chain.front().get(), key.get()) == 1;
  ERR_clear_error();
  if (key == nullptr) {
    return Unusable("the client key's PEM text can't be read; it must not need a password");
  }
  if (!fits) return Unusable("the client key does not belong to the client certificate");
  return Ok();
}

using Time = std::chrono::system_clock::time_point;

/// A certificate may name any second of the years 0 to 9999, which is more than the clock can.
std::optional<Time> TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  const std::chrono::sys_seconds told{std::chrono::seconds(timegm(&parts))};
  const auto first = std::chrono::ceil<std::chrono::seconds>(Time::min());
  const auto last = std::chrono::floor<std::chrono::seconds>(Time::max());
  return Time(std::clamp(told, first, last));
}

}  // namespace

Status CheckPem(const EtcdCredentials& credentials) {
  if (!credentials.ca_pem.empty()) {
    if (const Status checked = CheckCa(credentials.ca_pem); !checked) return checked;
  }
  if (credentials.cert_pem.empty() != credentials.key_pem.empty()) {
    return Unusable("a client certificate and its key go together: give both or none");
  }
  if (credentials.cert_pem.empty()) return Ok();
  return CheckPair(credentials.cert_pem, credentials.key_pem);
}

std::optional<Validity> ValidityOf(const std::string& pem) {
  Validity all{.from = Time::min(), .until = Time::max()};
  const std::vector<Certificate> chain = Certificates(pem);
  for (const Certificate& certificate : chain) {
    const auto from = TimeOf(X509_get0_notBefore(certificate.get()));
    const auto until = TimeOf(X509_get0_notAfter(certificate.get()));
    ERR_clear_error();
    if (!from || !until) return std::nullopt;
    all = {.from = std::max(all.from, *from), .until = std::min(all.until, *until)};
  }
  if (chain.empty()) return std::nullopt;
  return all;
}

}  // namespace baton::etcd
