#include "base/grpc/server_tls.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/log.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include <grpcpp/security/auth_context.h>

namespace baton {
namespace {

grpc_ssl_client_certificate_request_type RequestType(ClientCertificates clients) {
  switch (clients) {
    case ClientCertificates::kNone: break;
    case ClientCertificates::kAsk: return GRPC_SSL_REQUEST_CLIENT_CERTIFICATE_AND_VERIFY;
    case ClientCertificates::kRequire:
      return GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY;
  }
  return GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
}

/// Hands gRPC the texts of an identity as they change. From time to time it hands the same ones
/// again: gRPC makes a new SSL_CTX of them, which has new keys for tickets.
class Fetcher {
 public:
  Fetcher(std::shared_ptr<const ServerIdentity> identity, std::chrono::milliseconds tickets_for)
      : identity_(std::move(identity)), tickets_for_(tickets_for) {}

  grpc_ssl_certificate_config_reload_status Fetch(grpc_ssl_server_certificate_config** config) {
    const auto pems = identity_->Get();
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now();
    if (pems->generation == given_ && now - given_at_ < tickets_for_) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    given_ = pems->generation;
    given_at_ = now;
    const PemTexts& texts = pems->texts;
    const grpc_ssl_pem_key_cert_pair pair{texts.key.c_str(), texts.cert.c_str()};
    // gRPC wants roots in any case. Without clients' certificates it does not use them.
    const std::string& roots = texts.ca.empty() ? texts.cert : texts.ca;
    *config = grpc_ssl_server_certificate_config_create(roots.c_str(), &pair, 1);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

 private:
  const std::shared_ptr<const ServerIdentity> identity_;
  const std::chrono::milliseconds tickets_for_;
  std::mutex mutex_;
  std::uint64_t given_ = 0;                           // guarded by mutex_
  std::chrono::steady_clock::time_point given_at_{};  // guarded by mutex_
};

/// gRPC may ask until its last thread is done with the server, which nobody can wait for. So
/// fetchers are never destroyed: one per server.
Fetcher* Kept(std::unique_ptr<Fetcher> fetcher) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<Fetcher>>();
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(fetcher));
  return kept->back().get();
}

grpc_ssl_certificate_config_reload_status Fetch(void* fetcher,
                                                grpc_ssl_server_certificate_config** config) {
  return static_cast<Fetcher*>(fetcher)->Fetch(config);
}

/// gRPC's C++ has no class for credentials whose certificates are fetched; its C library has them.
class FetchingCredentials final : public grpc::ServerCredentials {
 public:
  FetchingCredentials(std::shared_ptr<const ServerIdentity> identity,
                      std::chrono::milliseconds tickets_for) {
    const auto type = RequestType(identity->clients());
    Fetcher* const fetcher = Kept(std::make_unique<Fetcher>(std::move(identity), tickets_for));
    credentials_ = grpc_ssl_server_credentials_create_with_options(
        grpc_ssl_server_credentials_create_options_using_config_fetcher(type, &Fetch, fetcher));
  }
  ~FetchingCredentials() override { grpc_server_credentials_release(credentials_); }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {
    GPR_ASSERT(false);  // nobody calls it
  }

  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

 private:
  grpc_server_credentials* credentials_ = nullptr;
};

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// The addresses of a host, as numbers and without a port. Empty: it is not known.
std::vector<std::string> NumbersOf(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &wanted, &first) != 0) return {};
  const Found all(first, freeaddrinfo);
  std::vector<std::string> numbers;
  for (const addrinfo* at = all.get(); at != nullptr; at = at->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) !=
        0) {
      continue;
    }
    std::string number = at->ai_family == AF_INET6 ? "[" + std::string(text) + "]" : text;
    if (std::find(numbers.begin(), numbers.end(), number) == numbers.end()) {
      numbers.push_back(std::move(number));
    }
  }
  return numbers;
}

/// See AddTlsPort.
class ListeningCredentials final : public grpc::ServerCredentials {
 public:
  explicit ListeningCredentials(std::shared_ptr<const ServerIdentity> identity)
      : identity_(std::move(identity)) {}

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {
    GPR_ASSERT(false);  // nobody calls it
  }

 private:
  // 0: no socket listens. As gRPC has it, one of several addresses is enough.
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    if (address.starts_with("unix:")) return Listen(address, server);
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos || colon == 0) return 0;
    std::string host = address.substr(0, colon);
    if (host.front() == '[') {
      if (host.back() != ']') return 0;
      host = host.substr(1, host.size() - 2);
    }
    std::string port = address.substr(colon + 1);
    int bound = 0;
    for (const std::string& number : NumbersOf(host)) {
      const int got = Listen(number + ":" + port, server);
      if (got == 0) continue;
      bound = got;
      port = std::to_string(got);  // of 0 the first socket makes a number
    }
    return bound;
  }

  int Listen(const std::string& address, grpc_server* server) {
    all_.push_back(std::make_unique<FetchingCredentials>(identity_, kTicketsFor));
    return all_.back()->AddPortToServer(address, server);
  }

  const std::shared_ptr<const ServerIdentity> identity_;
  std::vector<std::unique_ptr<FetchingCredentials>> all_;
};

}  // namespace

void AddTlsPort(grpc::ServerBuilder& builder, const std::string& address,
                std::shared_ptr<const ServerIdentity> identity, int* port) {
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  builder.AddListeningPort(address, std::make_shared<ListeningCredentials>(std::move(identity)),
                           port);
}

std::shared_ptr<grpc::ServerCredentials> TlsServerCredentials(
    std::shared_ptr<const ServerIdentity> identity, std::chrono::milliseconds tickets_for) {
  return std::make_shared<FetchingCredentials>(std::move(identity), tickets_for);
}

// No fetcher: those are kept for ever.
std::shared_ptr<grpc::ServerCredentials> TlsServerCredentialsOfNow(const ServerIdentity& identity) {
  const auto pems = identity.Get();
  grpc::SslServerCredentialsOptions options(RequestType(identity.clients()));
  options.pem_root_certs = pems->texts.ca;
  options.pem_key_cert_pairs = {{pems->texts.key, pems->texts.cert}};
  return grpc::SslServerCredentials(options);
}

ClientCertificate CertificateOf(const grpc::CallbackServerContext& context) {
  const auto peer = context.auth_context();
  if (peer == nullptr || !peer->IsPeerAuthenticated()) return {};
  const auto texts = peer->FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME);
  if (texts.empty()) return {};
  // A caller calls again and again, and reading a certificate takes longer than an answer.
  thread_local std::string last;
  thread_local ClientCertificate read;
  const std::string_view text(texts.front().data(), texts.front().size());
  if (text != last) {
    last = text;
    read = ReadClientCertificate(last);
  }
  return read;
}

}  // namespace baton
