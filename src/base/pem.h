// Reads PEM texts before connections use them. Pure, thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "baton/result.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct x509_st;     // OpenSSL's X509

namespace baton {

/// A certificate with its key, and the authorities that this side trusts. An empty text is not
/// given.
struct PemTexts {
  std::string ca = {};
  std::string cert = {};
  std::string key = {};

  bool operator==(const PemTexts&) const = default;
};

/// A CA, if it is given, holds at least one certificate. Certificate and key are both given or both
/// not, can be read without a password, and belong to each other. Leaves trust, names and dates to
/// the handshake. `whose`: "client" or "server", for the message. Error: kInvalidArgument with one
/// line that says what is wrong.
Status CheckPem(const PemTexts& texts, std::string_view whose);

/// What a server does about clients' certificates.
enum class ClientCertificates : std::uint8_t {
  kNone,     ///< doesn't ask for them
  kAsk,      ///< takes them, and serves clients without one too; but refuses one it doesn't trust
  kRequire,  ///< serves only clients with one that it trusts
};

/// OpenSSL's context of a server that shows this certificate and trusts clients' certificates of
/// this CA; without a CA it trusts none. TLS 1.2 and later; no session is resumed. Error:
/// kInvalidArgument: there is no certificate, CheckPem's, or what OpenSSL doesn't like, for example
/// too short a key.
Result<std::shared_ptr<ssl_ctx_st>> ServerContext(const PemTexts& texts,
                                                  ClientCertificates clients);

/// The time in which a certificate can be used. A time that system_clock can't hold becomes the
/// earliest or latest that it can.
struct Validity {
  std::chrono::system_clock::time_point from{};
  std::chrono::system_clock::time_point until{};
};

/// The time in which all certificates of a PEM text are valid, since a chain needs each of them; it
/// may end before it begins. Unset: there is none, or one can't be read.
std::optional<Validity> ValidityOf(const std::string& pem);

/// The name by which a certificate's holder is known here: its spiffe:// URI, as it is; else
/// "dns:" and its first DNS name; else "cn:" and its common name, in UTF-8. Empty: it has none of
/// these, or a spiffe:// URI that is not a SPIFFE id or not the only URI, or a name with a zero
/// byte. All other bytes are possible.
std::string NameInCertificate(const x509_st& certificate);
/// The same for the first certificate of a PEM text. Empty: there is none.
std::string NameInCertificate(const std::string& pem);

}  // namespace baton
