#include "baton/credentials.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <mutex>
#include <utility>

#include <fmt/format.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>

#include "base/escape.h"
#include "base/fork_wiped_words.h"
#include "base/grpc/server_tls.h"
#include "base/pem.h"
#include "base/pem_follower.h"
#include "base/server_identity.h"
#include "base/text_rules.h"

namespace baton {
namespace {

namespace tls = grpc::experimental;

constexpr std::size_t kMaxServers = 16;

/// In quotes, and safe to print: a stranger's certificate can have any name.
std::string QuotedName(const std::string& name) {
  constexpr std::size_t kMaxNameBytes = 300;
  return "\"" + OneLine(name, kMaxNameBytes) + "\"";
}

/// Runs after gRPC has found that the certificate is valid and signed by an authority.
class ServersOfGroup final : public tls::ExternalCertificateVerifier {
 public:
  explicit ServersOfGroup(std::vector<std::string> servers) : servers_(std::move(servers)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* result) override {
    const grpc::string_ref pem = request->peer_cert();
    const std::string name = NameInCertificate(std::string(pem.data(), pem.size()));
    const bool known = std::any_of(servers_.begin(), servers_.end(), [&](const std::string& one) {
      return FitsCertificatePattern(name, one);
    });
    if (!known) {
      *result = {grpc::StatusCode::UNAUTHENTICATED,
                 name.empty() ? "its certificate has no name"
                              : "its certificate is that of " + QuotedName(name) +
                                    ", which is not one of the group's servers"};
    }
    return true;  // at once
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const std::vector<std::string> servers_;
};

// The provider never changes: gRPC's own, which reads files, hands out a certificate and a key that
// don't belong together while somebody replaces them.
std::shared_ptr<grpc::ChannelCredentials> MakeCredentials(const PemTexts& texts,
                                                          const std::vector<std::string>& servers) {
  std::vector<tls::IdentityKeyCertPair> own;
  if (!texts.cert.empty()) {
    own.push_back({.private_key = texts.key, .certificate_chain = texts.cert});
  }
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(
      std::make_shared<tls::StaticDataCertificateProvider>(texts.ca, own));
  options.watch_root_certs();
  if (!own.empty()) options.watch_identity_key_cert_pairs();
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<ServersOfGroup>(servers));
  options.set_check_call_host(false);
  return tls::TlsCredentials(options);
}

// The follower's thread is not in a forked child, so its destructor would wait for it for ever.
template <typename Impl>
void LeakInForkedChild(std::unique_ptr<Impl>& impl) {
  if (impl->InForkedChild()) static_cast<void>(impl.release());
}

Error BadCredentials(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

Status CheckOptions(const GroupCredentialsOptions& options) {
  if (options.ca_file.empty()) {
    return BadCredentials("ca_file is empty; name the authorities' file");
  }
  if (options.servers.empty() || options.servers.size() > kMaxServers) {
    return BadCredentials(
        fmt::format("{} servers are named; name 1 to {}", options.servers.size(), kMaxServers));
  }
  for (const std::string& name : options.servers) {
    if (IsCertificatePattern(name)) continue;
    return BadCredentials(QuotedName(name) + " can't name a server's certificate; give " +
                          std::string(kCertificatePatterns));
  }
  if (options.cert_file.empty() != options.key_file.empty()) {
    return BadCredentials("cert_file and key_file go together: give both or none");
  }
  return Ok();
}

}  // namespace

class GroupCredentials::Impl {
 public:
  Impl(std::vector<std::string> servers, const PemFiles& files, const PemTexts& texts)
      : servers_(std::move(servers)),
        credentials_(MakeCredentials(texts, servers_)),
        follower_(files, texts, [this](const PemTexts& changed) { return Use(changed); }) {}

  std::shared_ptr<grpc::ChannelCredentials> Get() const {
    const std::lock_guard lock(mutex_);
    return credentials_;
  }
  std::string problem() const { return follower_.problem(); }
  bool InForkedChild() const { return fork_mark_.InForkedChild(); }

 private:
  Status Use(const PemTexts& texts) {
    if (Status checked = CheckPem(texts, "client"); !checked) return checked;
    auto made = MakeCredentials(texts, servers_);  // at the end the earlier ones, without the lock
    const std::lock_guard lock(mutex_);
    credentials_.swap(made);
    return Ok();
  }

  const ForkMark fork_mark_;
  const std::vector<std::string> servers_;
  mutable std::mutex mutex_;
  std::shared_ptr<grpc::ChannelCredentials> credentials_;  // guarded by mutex_
  PemFollower follower_;  // last, because its thread uses the other members
};

Result<std::shared_ptr<const GroupCredentials>> GroupCredentials::FromFiles(
    GroupCredentialsOptions options) {
  if (Status checked = CheckOptions(options); !checked) return checked.error();
  const PemFiles files{.ca = options.ca_file, .cert = options.cert_file, .key = options.key_file};
  const Result<PemTexts> texts = ReadPems(files);
  if (!texts) return texts.error();
  if (Status checked = CheckPem(*texts, "client"); !checked) return checked.error();
  return std::shared_ptr<const GroupCredentials>(new GroupCredentials(
      std::make_unique<Impl>(std::move(options.servers), files, texts.value())));
}

class ServerCertificates::Impl {
 public:
  Impl(std::shared_ptr<ServerIdentity> identity, const PemFiles& files)
      : identity_(std::move(identity)),
        follower_(files, identity_->Get()->texts,
                  [this](const PemTexts& changed) { return identity_->Set(changed); }) {}

  const std::shared_ptr<ServerIdentity>& identity() const { return identity_; }
  std::string problem() const { return follower_.problem(); }
  bool InForkedChild() const { return fork_mark_.InForkedChild(); }

 private:
  const ForkMark fork_mark_;
  const std::shared_ptr<ServerIdentity> identity_;
  PemFollower follower_;  // last, because its thread uses the identity
};

Result<std::unique_ptr<ServerCertificates>> ServerCertificates::FromFiles(
    ServerCertificateFiles files) {
  if (files.cert_file.empty() || files.key_file.empty()) {
    return BadCredentials("cert_file or key_file is empty; name both files");
  }
  const PemFiles paths{.ca = files.client_ca_file, .cert = files.cert_file, .key = files.key_file};
  Result<PemTexts> texts = ReadPems(paths);
  if (!texts) return texts.error();
  const auto clients = paths.ca.empty() ? ClientCertificates::kNone : ClientCertificates::kRequire;
  auto identity = ServerIdentity::Create(std::move(texts).value(), clients);
  if (!identity) return identity.error();
  return std::unique_ptr<ServerCertificates>(
      new ServerCertificates(std::make_unique<Impl>(*std::move(identity), paths)));
}

void ServerCertificates::AddListeningPort(grpc::ServerBuilder& builder, const std::string& address,
                                          int* port) const {
  AddTlsPort(builder, address, impl_->identity(), port);
}

std::string ServerCertificates::problem() const { return impl_->problem(); }
ServerCertificates::ServerCertificates(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServerCertificates::~ServerCertificates() { LeakInForkedChild(impl_); }

GroupCredentials::GroupCredentials(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GroupCredentials::~GroupCredentials() { LeakInForkedChild(impl_); }

std::shared_ptr<grpc::ChannelCredentials> GroupCredentials::Get() const { return impl_->Get(); }
std::string GroupCredentials::problem() const { return impl_->problem(); }

}  // namespace baton
