#include "e2e/authority.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/subprocess.h"
#include "e2e/cluster.h"

namespace baton::e2e {

namespace fs = std::filesystem;

namespace {

// etcd 3.7 reads no list in PEM, and none without a number.
constexpr const char* kWriteRevoked =
    "openssl ca -config settings -keyfile ca.key -cert ca.pem -gencrl -out revoked.pem; "
    "openssl crl -in revoked.pem -outform DER -out revoked.new; mv revoked.new revoked.crl";

}  // namespace

void RunScript(const std::string& script) {
  const std::string folder = FreshFolder();
  const std::string output = folder + "/output";
  const auto status = RunProgram({.arguments = {"sh", "-ec", script}, .output_path = output},
                                 BootClock::now() + kPatience);
  std::ifstream file(output);
  const std::string said(std::istreambuf_iterator<char>(file), {});
  std::error_code ignored;
  fs::remove_all(folder, ignored);
  if (!status) throw Unmet(status.error().message);
  if (!status.value().success()) throw Unmet(script + ": " + said);
}

Authority::Authority() : folder_(FreshFolder()) {
  RunScript(
      "cd " + folder_ +
      "; openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=authority -keyout ca.key "
      "-out ca.pem; echo 'subjectAltName=IP:127.0.0.1' > names; touch index; echo 01 > number; "
      "printf '[ca]\\ndefault_ca=own\\n[own]\\ndatabase=index\\ndefault_md=sha256\\n"
      "default_crl_days=2\\ncrlnumber=number\\n' > settings; " +
      kWriteRevoked);
  Issue("member");
}

Authority::~Authority() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

void Authority::Issue(const std::string& name, int days) const {
  RunScript("cd " + folder_ + "; openssl req -newkey rsa:2048 -nodes -subj /CN=" + name +
            " -keyout " + name + ".key -out " + name + ".csr; openssl x509 -req -in " + name +
            ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days " + std::to_string(days) +
            " -extfile names -out " + name + ".pem");
}

void Authority::Revoke(const std::string& name) const {
  RunScript("cd " + folder_ +
            "; openssl ca -config settings -keyfile ca.key -cert ca.pem -revoke " + name +
            ".pem; " + kWriteRevoked);
}

void Authority::Protect(lab::PrivateEtcdOptions* etcd) const {
  etcd->tls = {.cert_path = cert("member"), .key_path = key("member"), .client_ca_path = ca()};
  etcd->arguments.push_back("--client-crl-file=" + revoked());
}

}  // namespace baton::e2e
