// DemoCertificates: the certificate authority of a secure demo. It writes certificates and their
// keys to files in a folder of their own. etcd and the nodes read these files, and read them again
// when they change. Each certificate is valid for an hour, also the authority's own, which is never
// replaced. So a demo must not take longer.
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
/// The password of kDemoEtcdUser and of root. etcd also demands a certificate from every client.
inline constexpr const char* kDemoEtcdPassword = "demo";

/// The names for which there are certificates. All nodes and etcd use the certificate of kDemoNode.
inline constexpr const char* kDemoNode = "node";
inline constexpr const char* kDemoOperator = "operator";
inline constexpr const char* kDemoReader = "reader";

/// Returns the paths of the CA, certificate and key of `who`. `folder`: that of a DemoCertificates.
/// `who`: one of the three names above.
ClientTls DemoFiles(const std::string& folder, const std::string& who);

class DemoCertificates {
 public:
  /// Makes the folder and issues the first certificates. kUnavailable: the folder or a file can't
  /// be made; no folder is left then.
  static Result<std::unique_ptr<DemoCertificates>> Create();
  /// Removes the folder.
  ~DemoCertificates();
  DemoCertificates(const DemoCertificates&) = delete;
  DemoCertificates& operator=(const DemoCertificates&) = delete;

  /// Replaces all certificates and keys, one file after another. The authority stays the same. For
  /// a moment, a new key is beside an old certificate. But nobody reads half a file. kUnavailable:
  /// a file can't be written; other files may already be new.
  Status Renew();

  const std::string& folder() const { return folder_; }
  ClientTls Of(const std::string& who) const { return DemoFiles(folder_, who); }
  lab::PrivateEtcdTls OfEtcd() const;

 private:
  explicit DemoCertificates(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
  const lab::Issuer issuer_{"demo"};
};

/// Sets the user, the password and the certificates that a secure demo's etcd demands. `etcd`: the
/// options to set, of a node or of a transport.
template <typename Options>
void UseAtDemoEtcd(const std::string& user, const PemTexts& texts, Options& etcd) {
  etcd.user = user;
  etcd.password = kDemoEtcdPassword;
  etcd.ca_pem = texts.ca;
  etcd.cert_pem = texts.cert;
  etcd.key_pem = texts.key;
}

}  // namespace baton::app
