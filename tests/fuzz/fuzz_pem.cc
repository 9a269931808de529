// pem: the texts of certificates and keys with which a node authenticates to etcd.
//
// Must hold: a refusal is one line. An accepted text is accepted again. Only a text with a
// certificate has a time. OpenSSL's queue of errors, which gRPC reads too, is left empty.
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "base/pem.h"
#include "fuzz/targets.h"

namespace baton::fuzz {
namespace {

template <auto Free>
struct Freed {
  template <typename Value>
  void operator()(Value* value) const {
    Free(value);
  }
};
using Bio = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;

std::string Content(const Bio& written) {
  char* begin = nullptr;
  const long size = BIO_get_mem_data(written.get(), &begin);
  return {begin, static_cast<std::size_t>(size)};
}

struct Pair {
  std::string certificate;
  std::string key;
};

/// Ed25519 draws no random numbers: the same `number` makes the same texts.
Pair MakePair(unsigned char number) {
  const std::string secret(32, static_cast<char>(number));
  const Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                             reinterpret_cast<const unsigned char*>(secret.data()),
                                             secret.size()));
  const Certificate certificate(X509_new());
  Must(key != nullptr && certificate != nullptr, "a key and a certificate can be made");
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), number);
  ASN1_TIME_set_string(X509_getm_notBefore(certificate.get()), "20260101000000Z");
  ASN1_TIME_set_string(X509_getm_notAfter(certificate.get()), "20360101000000Z");
  X509_NAME* const name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("n1"),
                             -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  X509_set_pubkey(certificate.get(), key.get());
  Must(X509_sign(certificate.get(), key.get(), nullptr) > 0, "a certificate can be signed");
  const Bio written_certificate(BIO_new(BIO_s_mem()));
  const Bio written_key(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(written_certificate.get(), certificate.get());
  PEM_write_bio_PrivateKey(written_key.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {Content(written_certificate), Content(written_key)};
}

}  // namespace

void RunPem(std::string_view bytes) {
  Input input(bytes);
  PemTexts texts;
  texts.ca = input.Part();
  texts.cert = input.Part();
  texts.key = input.Rest();
  const Status checked = CheckPem(texts, "client");
  const auto valid = ValidityOf(texts.cert);
  Must(ERR_peek_error() == 0, "no error of OpenSSL's is left behind");
  Must(!valid || texts.cert.find("-----BEGIN ") != std::string::npos, "no text, no time");
  if (checked.ok()) return Must(CheckPem(texts, "client").ok(), "what is taken is taken again");
  Must(checked.error().code == ErrorCode::kInvalidArgument, "a refusal of a text says so");
  MustBeOneLine(checked.error().message);
}

std::vector<Seed> PemSeeds() {
  const auto of = [](const std::string& ca, const std::string& certificate,
                     const std::string& key) {
    return PartBytes(ca) + PartBytes(certificate) + key;
  };
  const Pair ours = MakePair(1);
  const Pair other = MakePair(2);
  return {{"all", of(other.certificate, ours.certificate, ours.key)},
          {"authorities", of(ours.certificate + other.certificate, "", "")},
          {"chain", of("", ours.certificate + other.certificate, ours.key)},
          {"another-key", of("", ours.certificate, other.key)},
          {"half", of("", ours.certificate, "")},
          {"cut", of(other.certificate.substr(0, other.certificate.size() / 2), "", "")}};
}

}  // namespace baton::fuzz
