// DemoCertificates: the authority of a secure demo and all certificates that it has issued, as
// files in a folder of their own. Etcd and the nodes read them there, again when they change. Each
// is valid for an hour.
//
// One thread at a time.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "app/ctl/ctl.h"
#include "baton/result.h"
#include "lab/certificates.h"
#include "lab/private_etcd.h"

namespace baton::app {

inline constexpr const char* kDemoEtcdUser = "baton";
/// Of this user and of root. Etcd also wants a certificate from everybody.
inline constexpr const char* kDemoEtcdPassword = "demo";

/// Who have certificates. A node shows its own to callers and to etcd.
inline constexpr const char* kDemoNode = "node";
inline constexpr const char* kDemoOperator = "operator";
inline constexpr const char* kDemoReader = "reader";

/// The files of `who` in the folder of a DemoCertificates.
ClientTls DemoFiles(const std::string& folder, const std::string& who);

class DemoCertificates {
 public:
  /// Issues the first ones. kUnavailable: no files can be written.
  static Result<std::unique_ptr<DemoCertificates>> Create();
  /// Removes the folder.
  ~DemoCertificates();
  DemoCertificates(const DemoCertificates&) = delete;
  DemoCertificates& operator=(const DemoCertificates&) = delete;

  /// Puts new certificates and keys in the places of all old ones, file by file; the authority
  /// stays. For a moment a key and a certificate don't belong together. kUnavailable: a file can't
  /// be written; some may be new by then.
  Status Renew();

  const std::string& folder() const { return folder_; }
  ClientTls Of(const std::string& who) const { return DemoFiles(folder_, who); }
  lab::PrivateEtcdTls OfEtcd() const;

 private:
  explicit DemoCertificates(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  const lab::Issuer issuer_{"demo"};
};

/// Adds what a secure demo's etcd wants to the options of a node or a transport.
template <typename Options>
void UseAtDemoEtcd(const std::string& user, const PemTexts& texts, Options& etcd) {
  etcd.user = user;
  etcd.password = kDemoEtcdPassword;
  etcd.ca_pem = texts.ca;
  etcd.cert_pem = texts.cert;
  etcd.key_pem = texts.key;
}

}  // namespace baton::app
