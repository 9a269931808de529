// Checks and reads PEM texts (certificates, keys) before connections use them. Pure; any thread.
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

/// A certificate with its key, and the authorities (CAs) that this side trusts. An empty text
/// counts as not given.
struct PemTexts {
  std::string ca = {};
  std::string cert = {};
  std::string key = {};

  bool operator==(const PemTexts&) const = default;
};

/// Checks these rules:
///   - If `ca` is not empty: it has at least one certificate, and all its certificates can be read.
///   - `cert` and `key` are both given, or both empty.
///   - All certificates in `cert` can be read. The key can be read without a password.
///   - The key belongs to the first certificate in `cert`.
/// Does not check trust, names and dates: the handshake does. `whose`: "client" or "server", for
/// the message. kInvalidArgument: a rule is broken; the message says which, in one line.
Status CheckPem(const PemTexts& texts, std::string_view whose);

/// How a server treats clients' certificates.
enum class ClientCertificates : std::uint8_t {
  kNone,     ///< doesn't ask for certificates
  kAsk,      ///< also serves clients without a certificate; refuses certificates it doesn't trust
  kRequire,  ///< serves only clients with a certificate that it trusts
};

/// Returns OpenSSL's context for a server that shows texts.cert. The server trusts a client's
/// certificate if texts.ca has this certificate, or a certificate that signed it. The client may
/// send certificates that link the two. Without a CA, the server trusts no client's certificate.
/// TLS 1.2 and later. Sessions are never resumed. If a client changes the connection's keys more
/// than 8 times, the connection reads as ended. kInvalidArgument: texts.cert is empty, CheckPem
/// refuses the texts, or OpenSSL refuses them, for example because a key is too short.
Result<std::shared_ptr<ssl_ctx_st>> ServerContext(const PemTexts& texts,
                                                  ClientCertificates clients);

/// The time in which certificates can be used. A time outside of system_clock's range becomes the
/// earliest or latest time of that range.
struct Validity {
  std::chrono::system_clock::time_point from{};
  std::chrono::system_clock::time_point until{};
};

/// Returns the time in which all certificates of a PEM text are valid: a chain needs each of them.
/// If there is no such time, `until` is before `from`. nullopt: the text has no certificate, or a
/// certificate or one of its dates can't be read.
std::optional<Validity> ValidityOf(const std::string& pem);

/// Returns Baton's name for a certificate's holder: the first of these that the certificate has.
///  1. its spiffe:// URI, unchanged
///  2. "dns:" and its first DNS name that is not empty
///  3. "cn:" and its first common name, in UTF-8
/// The name may have any bytes except zero bytes. The result is empty in these cases:
///  - The certificate has none of the three.
///  - It has a spiffe:// URI, but this is not its only URI, or is not a SPIFFE id. (A SPIFFE id has
///    a trust domain of 1 to 255 bytes, a path, and at most 2,048 bytes in all.)
///  - One of its URIs or DNS names has a zero byte.
///  - Its name would be the common name, which is empty, has a zero byte, or can't be read.
std::string NameInCertificate(const x509_st& certificate);
/// Returns NameInCertificate of the first certificate in a PEM text. Empty if the text has no
/// certificate, or if one of its certificates can't be read.
std::string NameInCertificate(const std::string& pem);

}  // namespace baton
