// Certificates that end, ended, or are not valid yet, as the doctor and the log see them. The test
// makes them, and says what time it is.
#include "runtime/doctor/secrets.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace baton::runtime {
namespace {

using std::chrono::days;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using Time = std::chrono::system_clock::time_point;

template <auto Free>
struct FreedBy {
  template <typename Value>
  void operator()(Value* value) const {
    Free(value);
  }
};

/// A certificate that is valid between two times of the form 20261122000000Z, as PEM text. Nobody
/// could use it: it has no names.
std::string CertificateFor(const char* from, const char* until) {
  const std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>> key(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  const std::unique_ptr<X509, FreedBy<X509_free>> certificate(X509_new());
  EXPECT_EQ(ASN1_TIME_set_string_X509(X509_getm_notBefore(certificate.get()), from), 1);
  EXPECT_EQ(ASN1_TIME_set_string_X509(X509_getm_notAfter(certificate.get()), until), 1);
  X509_set_pubkey(certificate.get(), key.get());
  EXPECT_GT(X509_sign(certificate.get(), key.get(), nullptr), 0);
  const std::unique_ptr<BIO, FreedBy<BIO_free_all>> written(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(written.get(), certificate.get());
  char* begin = nullptr;
  const long size = BIO_get_mem_data(written.get(), &begin);
  return {begin, static_cast<std::size_t>(size)};
}

Time At(int year, unsigned month, unsigned day) {
  return std::chrono::sys_days(std::chrono::year(year) / month / day);
}

SecretsCheckup CheckAt(Time now, const std::string& cert_pem) {
  EtcdOptions etcd;
  etcd.cert_pem = cert_pem;
  etcd.key_pem = "key";
  return CheckSecrets(etcd, {}, now);
}
std::vector<std::string> TroublesAt(Time now, const std::string& cert_pem) {
  return SecretsTroubles(CheckAt(now, cert_pem));
}

constexpr const char* kEndsSoon =
    "etcd's client certificate ends at 2026-12-22T00:00:00.000Z, within 14 days: renew it";

// Plan: a certificate of one month, a second before and at each border.
TEST(Secrets, WarnOfACertificateAroundItsTime) {
  const std::string certificate = CertificateFor("20261122000000Z", "20261222000000Z");
  const Time from = At(2026, 11, 22), until = At(2026, 12, 22);
  EXPECT_THAT(TroublesAt(from - seconds(1), certificate),
              ElementsAre("etcd's client certificate is not valid before "
                          "2026-11-22T00:00:00.000Z: look at this host's clock"));
  EXPECT_THAT(TroublesAt(from, certificate), IsEmpty());
  EXPECT_THAT(TroublesAt(until - days(14) - seconds(1), certificate), IsEmpty());
  EXPECT_THAT(TroublesAt(until - days(14), certificate), ElementsAre(kEndsSoon));
  EXPECT_THAT(TroublesAt(until, certificate), ElementsAre(kEndsSoon));
  EXPECT_THAT(
      TroublesAt(until + seconds(1), certificate),
      ElementsAre("etcd's client certificate has ended, at 2026-12-22T00:00:00.000Z: renew it"));
}

// A member needs each certificate of a chain, so the first that ends counts.
TEST(Secrets, WarnOfAnyCertificateOfAChain) {
  const std::string own = CertificateFor("20260101000000Z", "20361231000000Z");
  const std::string between = CertificateFor("20261122000000Z", "20261222000000Z");
  for (const std::string& chain : {own + between, between + own}) {
    EXPECT_THAT(TroublesAt(At(2026, 12, 21), chain), ElementsAre(kEndsSoon));
    EXPECT_EQ(TroublesAt(At(2026, 11, 21), chain).size(), 1u);
    EXPECT_THAT(TroublesAt(At(2026, 11, 23), chain), IsEmpty());
  }
}

// Times that the clock can't tell: RFC 5280 writes that a certificate never ends as the year 9999.
TEST(Secrets, TakeTimesBeyondTheClock) {
  const std::string endless = CertificateFor("19500101000000Z", "99991231235959Z");
  EXPECT_THAT(TroublesAt(At(2026, 11, 22), endless), IsEmpty());
  const std::string never = CertificateFor("99991231235959Z", "19500101000000Z");
  EXPECT_EQ(TroublesAt(At(2026, 11, 22), never).size(), 1u);
}

// Texts that are no certificate are refused elsewhere.
TEST(Secrets, WarnOfNoCertificateWithoutOne) {
  const std::string certificate = CertificateFor("20260101000000Z", "20260102000000Z");
  for (const std::string& text : {std::string(), std::string("words"), certificate.substr(0, 90)}) {
    EXPECT_THAT(TroublesAt(At(2026, 11, 22), text), IsEmpty()) << text;
  }
}

// Plan: a good certificate, one that ends soon, and the same beside a password in the clear.
TEST(Secrets, AreAFindingWithAdvice) {
  const std::string certificate = CertificateFor("20261122000000Z", "20261222000000Z");
  const Finding well = JudgeSecrets(CheckAt(At(2026, 11, 23), certificate));
  EXPECT_EQ(well.severity, Severity::kOk);
  EXPECT_THAT(well.what, testing::EndsWith("the certificate ends at 2026-12-22T00:00:00.000Z"));
  SecretsCheckup late = CheckAt(At(2026, 12, 21), certificate);
  const Finding soon = JudgeSecrets(late);
  EXPECT_EQ(soon.severity, Severity::kWarning);
  EXPECT_EQ(soon.what, kEndsSoon);
  EXPECT_EQ(soon.advice, "a node takes a new certificate and key without a restart");
  late.password_in_clear = true;
  EXPECT_THAT(JudgeSecrets(late).advice, testing::HasSubstr("SECURITY.md"));
}

// Plan: the ports have a certificate of their own, beside a good one for etcd.
TEST(Secrets, AreThoseOfThePortsToo) {
  const std::string good = CertificateFor("20261122000000Z", "20361222000000Z");
  const std::string soon = CertificateFor("20261122000000Z", "20261222000000Z");
  EtcdOptions etcd;
  etcd.cert_pem = good;
  EXPECT_THAT(SecretsTroubles(CheckSecrets(etcd, {}, At(2026, 11, 23), soon)), IsEmpty());
  EXPECT_THAT(
      SecretsTroubles(CheckSecrets(etcd, {}, At(2026, 12, 21), soon)),
      testing::ElementsAre("the ports' certificate ends at 2026-12-22T00:00:00.000Z, within "
                           "14 days: renew it"));
  const Finding well = JudgeSecrets(CheckSecrets({}, {}, At(2026, 11, 23), good));
  EXPECT_THAT(well.what, testing::HasSubstr("out of other users' reach; the ports' ends at 2036"));
}

// The files of a node change: what is looked at are the new contents at the old addresses.
TEST(Secrets, AreLookedAtAfterTheirRenewal) {
  EtcdOptions etcd;
  etcd.endpoints = {"10.0.0.7:2379"};
  etcd.user = "u";
  etcd.cert_pem = CertificateFor("20261122000000Z", "20361222000000Z");
  const EtcdOptions renewed = Renewed(
      etcd, {.password = "p", .cert_pem = CertificateFor("20261122000000Z", "20261222000000Z")});
  const SecretsCheckup found = CheckSecrets(renewed, {}, At(2026, 12, 21));
  EXPECT_FALSE(found.password_in_clear) << "a certificate of the client makes it TLS";
  EXPECT_EQ(found.certificate->until, At(2026, 12, 22));
  etcd.cert_pem.clear();
  EXPECT_TRUE(
      CheckSecrets(Renewed(etcd, {.password = "p"}), {}, At(2026, 12, 21)).password_in_clear);
}

}  // namespace
}  // namespace baton::runtime
