#include "base/pem.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace baton {
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

Error NotPem(std::string_view what, const std::string& text) {
  const bool path = text.find('\n') == std::string::npos && text.find('/') != std::string::npos;
  return Unusable(fmt::format("the {} is not PEM text{}", what,
                              path ? ": it looks like a path; give the file's content" : ""));
}

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
  if (!IsPem(text)) return NotPem("CA certificate", text);
  if (Certificates(text).empty()) return Unusable("the CA certificate's PEM text can't be read");
  return Ok();
}

Status CheckPair(const std::string& cert_text, const std::string& key_text,
                 std::string_view whose) {
  if (!IsPem(cert_text)) return NotPem(fmt::format("{} certificate", whose), cert_text);
  if (!IsPem(key_text)) return NotPem(fmt::format("{} key", whose), key_text);
  const std::vector<Certificate> chain = Certificates(cert_text);
  if (chain.empty()) {
    return Unusable(fmt::format("the {} certificate's PEM text can't be read", whose));
  }
  const Bio input = Open(key_text);
  const Key key(PEM_read_bio_PrivateKey(input.get(), nullptr, NoPassword, nullptr));
  const bool fits = key != nullptr && X509_check_private_key(chain.front().get(), key.get()) == 1;
  ERR_clear_error();
  if (key == nullptr) {
    return Unusable(
        fmt::format("the {} key's PEM text can't be read; it must not need a password", whose));
  }
  if (!fits) {
    return Unusable(fmt::format("the {0} key does not belong to the {0} certificate", whose));
  }
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

using Names = std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>>;

/// Unset: it has a zero byte, at which others may end the name.
std::optional<std::string> TextOf(const ASN1_STRING* string) {
  const auto* const bytes = reinterpret_cast<const char*>(ASN1_STRING_get0_data(string));
  std::string text(bytes, static_cast<std::size_t>(ASN1_STRING_length(string)));
  if (text.find('\0') != std::string::npos) return std::nullopt;
  return text;
}

constexpr std::string_view kSpiffe = "spiffe://";

bool IsSpiffeId(std::string_view uri) {
  const std::string_view rest = uri.substr(kSpiffe.size());
  const std::size_t slash = rest.find('/');
  return uri.size() <= 2048 && slash != std::string_view::npos && slash > 0 && slash <= 255 &&
         slash + 1 < rest.size();
}

std::string CommonName(const X509& certificate) {
  const X509_NAME* const subject = X509_get_subject_name(&certificate);
  const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  unsigned char* bytes = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
  ERR_clear_error();
  if (size <= 0) return {};
  const std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text.find('\0') == std::string::npos ? "cn:" + text : "";
}

using Context = std::shared_ptr<SSL_CTX>;

/// False: OpenSSL refused something, and its queue of errors says what.
bool Use(SSL_CTX* context, const PemTexts& texts) {
  const std::vector<Certificate> chain = Certificates(texts.cert);
  const Bio input = Open(texts.key);
  const Key key(PEM_read_bio_PrivateKey(input.get(), nullptr, NoPassword, nullptr));
  bool used = SSL_CTX_use_certificate(context, chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(context, key.get()) == 1;
  for (std::size_t i = 1; used && i < chain.size(); ++i) {
    used = SSL_CTX_add1_chain_cert(context, chain[i].get()) == 1;
  }
  X509_STORE* const trusted = SSL_CTX_get_cert_store(context);
  // As gRPC has it: an authority below another one may be trusted alone.
  X509_STORE_set_flags(trusted, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  for (const Certificate& authority : Certificates(texts.ca)) {
    used = used && X509_STORE_add_cert(trusted, authority.get()) == 1 &&
           SSL_CTX_add_client_CA(context, authority.get()) == 1;
  }
  return used;
}

int VerifyMode(ClientCertificates clients) {
  switch (clients) {
    case ClientCertificates::kNone: break;
    case ClientCertificates::kAsk: return SSL_VERIFY_PEER;
    case ClientCertificates::kRequire: return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  }
  return SSL_VERIFY_NONE;
}

// A client may change its keys as often as it likes in TLS 1.3. It costs the server far more time
// than the client, and nobody but OpenSSL sees it. Real clients do it once in some
// 2^24 records at most.
constexpr std::intptr_t kMaxKeyUpdates = 8;

void CountKeyUpdates(int sent, int, int type, const void* message, std::size_t size, SSL* ssl,
                     void*) {
  static const int count_of = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  const auto* const bytes = static_cast<const unsigned char*>(message);
  const bool update = type == SSL3_RT_HANDSHAKE && size > 0 && bytes[0] == SSL3_MT_KEY_UPDATE;
  if (sent != 0 || !update) return;
  const auto count = reinterpret_cast<std::intptr_t>(SSL_get_ex_data(ssl, count_of)) + 1;
  SSL_set_ex_data(ssl, count_of, reinterpret_cast<void*>(count));
  // OpenSSL reads nothing after that, as if the client had ended the connection.
  if (count > kMaxKeyUpdates) SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

}  // namespace

Result<std::shared_ptr<ssl_ctx_st>> ServerContext(const PemTexts& texts,
                                                  ClientCertificates clients) {
  if (texts.cert.empty()) return Unusable("a server needs a certificate and its key");
  if (const Status checked = CheckPem(texts, "server"); !checked) return checked.error();
  const Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  const bool made = context != nullptr &&
                    SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) == 1 &&
                    Use(context.get(), texts);
  if (!made) {
    const char* const why = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return Unusable(fmt::format("OpenSSL does not take the server certificate: {}",
                                why != nullptr ? why : "it does not say why"));
  }
  // A resumed session's certificate would not be looked at again.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
  SSL_CTX_set_verify(context.get(), VerifyMode(clients), nullptr);
  SSL_CTX_set_msg_callback(context.get(), CountKeyUpdates);
  return context;
}

std::string NameInCertificate(const std::string& pem) {
  const std::vector<Certificate> chain = Certificates(pem);
  return chain.empty() ? "" : NameInCertificate(*chain.front());
}

std::string NameInCertificate(const x509_st& certificate) {
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  std::string spiffe;
  std::string dns;
  int uris = 0;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI && name->type != GEN_DNS) continue;
    const auto text = TextOf(name->d.ia5);
    if (!text) return {};
    if (name->type == GEN_DNS && dns.empty() && !text->empty()) dns = "dns:" + *text;
    if (name->type == GEN_URI) ++uris;
    if (name->type == GEN_URI && text->starts_with(kSpiffe)) spiffe = *text;
  }
  if (!spiffe.empty() && (uris > 1 || !IsSpiffeId(spiffe))) return {};
  if (!spiffe.empty()) return spiffe;
  return !dns.empty() ? dns : CommonName(certificate);
}

Status CheckPem(const PemTexts& texts, std::string_view whose) {
  if (!texts.ca.empty()) {
    if (const Status checked = CheckCa(texts.ca); !checked) return checked;
  }
  if (texts.cert.empty() != texts.key.empty()) {
    return Unusable(
        fmt::format("a {} certificate and its key go together: give both or none", whose));
  }
  if (texts.cert.empty()) return Ok();
  return CheckPair(texts.cert, texts.key, whose);
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

}  // namespace baton
