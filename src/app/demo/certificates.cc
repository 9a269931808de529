#include "app/demo/certificates.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace baton::app {
namespace {

namespace fs = std::filesystem;

/// Nobody reads half a file.
Status Replace(const std::string& path, const std::string& text) {
  std::ofstream file(path + ".new");
  file << text;
  file.close();
  std::error_code failed;
  if (file) fs::rename(path + ".new", path, failed);
  if (file && !failed) return Ok();
  return Error{ErrorCode::kUnavailable, "can't write " + path};
}

}  // namespace

Result<std::unique_ptr<DemoCertificates>> DemoCertificates::Create() {
  std::string name = (fs::temp_directory_path() / "baton-demo-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    return Error{ErrorCode::kUnavailable, "can't make a folder " + name};
  }
  std::unique_ptr<DemoCertificates> made(new DemoCertificates(std::move(name)));
  if (const Status issued = made->Renew(); !issued) return issued.error();
  return made;
}

DemoCertificates::~DemoCertificates() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Status DemoCertificates::Renew() {
  for (const char* who : {kDemoNode, kDemoOperator, kDemoReader}) {
    const PemTexts texts = issuer_.Issue(who, "IP:127.0.0.1");
    const ClientTls files = Of(who);
    for (const auto& [path, text] : {std::pair(files.ca, texts.ca), std::pair(files.key, texts.key),
                                     std::pair(files.cert, texts.cert)}) {
      if (const Status done = Replace(path, text); !done) return done;
    }
  }
  return Ok();
}

lab::PrivateEtcdTls DemoCertificates::OfEtcd() const {
  const ClientTls node = Of(kDemoNode);
  return {.cert_path = node.cert, .key_path = node.key, .client_ca_path = node.ca};
}

ClientTls DemoFiles(const std::string& folder, const std::string& who) {
  const std::string stem = folder + "/" + who;
  return {.ca = folder + "/ca.pem", .cert = stem + ".pem", .key = stem + ".key", .name = {}};
}

}  // namespace baton::app
