#include "lab/certificates.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace baton::lab {
namespace {

using Key = std::unique_ptr<EVP_PKEY, void (*)(EVP_PKEY*)>;
using Certificate = std::unique_ptr<X509, void (*)(X509*)>;

Key NewKey() { return {EVP_EC_gen("P-256"), EVP_PKEY_free}; }

constexpr std::chrono::seconds kHour = std::chrono::hours(1);

Certificate NewCertificate(const std::string& common_name, EVP_PKEY* key,
                           std::chrono::seconds valid_for) {
  static long serial = 0;
  Certificate made(X509_new(), X509_free);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  const std::chrono::seconds begins =
      std::min<std::chrono::seconds>(-kHour / 60, valid_for - kHour);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), begins.count());
  X509_gmtime_adj(X509_getm_notAfter(made.get()), valid_for.count());
  if (!common_name.empty()) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(common_name.data());
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8, bytes,
                               static_cast<int>(common_name.size()), -1, 0);
  }
  X509_set_pubkey(made.get(), key);
  return made;
}

void AddExtension(X509* certificate, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  BATON_CHECK(made != nullptr);
  X509_add_ext(certificate, made, -1);
  X509_EXTENSION_free(made);
}

template <typename Write>
std::string Written(const Write& write) {
  const std::unique_ptr<BIO, int (*)(BIO*)> to(BIO_new(BIO_s_mem()), BIO_free);
  write(to.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(to.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace

Issuer::Issuer(const std::string& name)
    : key_(NewKey()), certificate_(NewCertificate(name, key_.get(), kHour)) {
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  AddExtension(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  BATON_CHECK(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) > 0);
  pem_ = Written([this](BIO* to) { PEM_write_bio_X509(to, certificate_.get()); });
}

PemTexts Issuer::Issue(const std::string& common_name, const std::string& alternatives,
                       std::chrono::seconds valid_for) const {
  const Key key = NewKey();
  const Certificate made = NewCertificate(common_name, key.get(), valid_for);
  X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.get()));
  if (!alternatives.empty()) AddExtension(made.get(), NID_subject_alt_name, alternatives);
  BATON_CHECK(X509_sign(made.get(), key_.get(), EVP_sha256()) > 0);
  return {.ca = pem_,
          .cert = Written([&](BIO* to) { PEM_write_bio_X509(to, made.get()); }),
          .key = Written([&](BIO* to) {
            PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace baton::lab
