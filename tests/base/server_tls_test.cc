// gRPC's servers with TLS: who gets in, by which name, and certificates that are replaced.
#include "base/grpc/server_tls.h"

#include <grpc/grpc_security.h>
#include <malloc.h>
#include <openssl/pem.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/auth_context.h>
#include <gtest/gtest.h>

#include "base/grpc/server_limits.h"
#include "base/test_identity.h"
#include "baton/v1/routing.grpc.pb.h"
#include "lab/certificates.h"

namespace baton {
namespace {

using lab::Issuer;
using testing::HasSubstr;

constexpr std::chrono::seconds kPatience{60};

/// Whether the caller's handshake resumed a session of an earlier connection.
bool IsResumed(const grpc::CallbackServerContext& context) {
  const auto said = context.auth_context()->FindPropertyValues(GRPC_SSL_SESSION_REUSED_PROPERTY);
  return said.size() == 1 && said.front() == "true";
}

/// Answers with the name in the caller's certificate; as the leader's address, whether its session
/// was resumed; and as its node, whether the certificate has expired. Its streams are one message
/// now, and another one at Release.
class Naming final : public v1::RoutingService::CallbackService {
 public:
  grpc::ServerUnaryReactor* Lookup(grpc::CallbackServerContext* context, const v1::LookupRequest*,
                                   v1::LookupResponse* response) override {
    const ClientCertificate certificate = CertificateOf(*context);
    const bool expired = std::chrono::system_clock::now() >= certificate.until;
    response->set_group(certificate.name);
    response->mutable_leader()->set_address(IsResumed(*context) ? "resumed" : "verified");
    response->mutable_leader()->set_node(expired ? "expired" : "valid");
    auto* const reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
  grpc::ServerWriteReactor<v1::WatchRoutesResponse>* WatchRoutes(
      grpc::CallbackServerContext*, const v1::WatchRoutesRequest*) override {
    stream_ = new Stream;
    return stream_;
  }
  void Release() { stream_->Write(); }

 private:
  class Stream final : public grpc::ServerWriteReactor<v1::WatchRoutesResponse> {
   public:
    Stream() { Write(); }
    void Write() { StartWrite(&message_); }
    void OnWriteDone(bool ok) override {
      if (!ok || ++written_ == 2) Finish(grpc::Status::OK);
    }
    void OnDone() override { delete this; }

   private:
    v1::WatchRoutesResponse message_;
    int written_ = 0;
  };

  Stream* stream_ = nullptr;
};

class ServerTlsTest : public testing::Test {
 protected:
  ~ServerTlsTest() override {
    if (server_ != nullptr) server_->Shutdown();
  }

  void Serve(ClientCertificates clients, std::chrono::milliseconds tickets_for = kTicketsFor) {
    identity_ = TestIdentity(issuer_, clients, "IP:127.0.0.1");
    ASSERT_NE(identity_, nullptr);
    grpc::ServerBuilder builder;
    SetServerLimits(builder);
    builder.AddListeningPort("127.0.0.1:0", TlsServerCredentials(identity_, tickets_for), &port_);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  /// A stub with a connection of its own.
  std::unique_ptr<v1::RoutingService::Stub> Connect(const PemTexts& texts,
                                                    grpc::ChannelArguments arguments = {}) const {
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return v1::RoutingService::NewStub(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(port_),
                                  grpc::SslCredentials({.pem_root_certs = texts.ca,
                                                        .pem_private_key = texts.key,
                                                        .pem_cert_chain = texts.cert}),
                                  arguments));
  }
  /// The name that the server has for this client; "refused" if it does not get in.
  std::string NameOf(const PemTexts& texts) const {
    const auto stub = Connect(texts);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    v1::LookupResponse response;
    const grpc::Status status = stub->Lookup(&context, v1::LookupRequest{}, &response);
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) return "refused";
    return status.ok() ? response.group() : status.error_message();
  }
  /// The server's words about a caller with this stub; "refused" if it does not get in.
  static std::pair<std::string, std::string> Ask(v1::RoutingService::Stub& stub) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::LookupResponse response;
    const grpc::Status status = stub.Lookup(&context, v1::LookupRequest{}, &response);
    if (!status.ok()) return {"refused", status.error_message()};
    return {response.leader().address(), response.leader().node()};
  }
  PemTexts Nobody() const { return {.ca = issuer_.pem()}; }

  const Issuer issuer_{"authority"};
  std::shared_ptr<ServerIdentity> identity_;

  Naming service_;

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

/// HTTP's name for the holder.
std::string NameByOpenSsl(const std::string& pem) {
  const std::unique_ptr<BIO, int (*)(BIO*)> from(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  const std::unique_ptr<X509, void (*)(X509*)> certificate(
      PEM_read_bio_X509(from.get(), nullptr, nullptr, nullptr), X509_free);
  return NameInCertificate(*certificate);
}

// Plan: each kind of name, alone and beside others; two SPIFFE ids; what only looks like one.
TEST_F(ServerTlsTest, ACallersNameIsThatInItsCertificateOnAllPorts) {
  Serve(ClientCertificates::kRequire);
  const std::string long_domain(256, 'a');
  const struct {
    std::string common, alternatives, name;
  } cases[] = {
      {"operator", "", "cn:operator"},
      {"operator", "IP:127.0.0.1", "cn:operator"},
      {"operator", "DNS:a.example,DNS:b.example", "dns:a.example"},
      {"operator", "DNS:a.example,URI:spiffe://example.org/ops/bob",
       "spiffe://example.org/ops/bob"},
      {"operator", "URI:https://example.org/x", "cn:operator"},
      {"", "", ""},
      {"operator", "URI:spiffe://a/b,URI:spiffe://a/c", ""},
      {"operator", "URI:spiffe://a/b,URI:https://a/c", ""},
      {"operator", "URI:spiffe://a", ""},
      {"operator", "URI:spiffe:///b", ""},
      {"operator", "URI:spiffe://a//b", "spiffe://a//b"},
      {std::string("operator\0x", 10), "", ""},
      {"operator", "URI:spiffe://" + long_domain + "/b", ""},
      {"spiffe://example.org/ops/bob", "", "cn:spiffe://example.org/ops/bob"},
  };
  for (const auto& shape : cases) {
    const PemTexts texts = issuer_.Issue(shape.common, shape.alternatives);
    EXPECT_EQ(NameOf(texts), shape.name) << shape.common << " " << shape.alternatives;
    EXPECT_EQ(NameByOpenSsl(texts.cert), shape.name) << shape.common << " " << shape.alternatives;
  }
}

TEST_F(ServerTlsTest, WhoGetsIn) {
  const Issuer stranger("authority");
  PemTexts foreign = stranger.Issue("operator");
  foreign.ca = issuer_.pem();
  Serve(ClientCertificates::kRequire);
  EXPECT_EQ(NameOf(issuer_.Issue("operator")), "cn:operator");
  EXPECT_EQ(NameOf(Nobody()), "refused");
  EXPECT_EQ(NameOf(foreign), "refused");
  EXPECT_EQ(NameOf({.ca = stranger.pem()}), "refused") << "the client does not trust this server";
}

TEST_F(ServerTlsTest, WhoGetsInIfCertificatesAreOnlyAskedFor) {
  Serve(ClientCertificates::kAsk);
  PemTexts foreign = Issuer("authority").Issue("operator");
  foreign.ca = issuer_.pem();
  EXPECT_EQ(NameOf(issuer_.Issue("operator")), "cn:operator");
  EXPECT_EQ(NameOf(Nobody()), "");
  EXPECT_EQ(NameOf(foreign), "refused");
}

TEST_F(ServerTlsTest, WhoGetsInIfNobodyIsAsked) {
  Serve(ClientCertificates::kNone);
  EXPECT_EQ(NameOf(Nobody()), "");
  EXPECT_EQ(NameOf(issuer_.Issue("operator")), "");
}

// Plan: a key of another certificate, no text, half a text; each is refused, and clients still get
// in. Then another authority: clients of the one before don't.
TEST_F(ServerTlsTest, WhatDoesNotBelongTogetherChangesNothing) {
  Serve(ClientCertificates::kRequire);
  const PemTexts good = issuer_.Issue("server", "IP:127.0.0.1");
  const PemTexts client = issuer_.Issue("operator");
  PemTexts half = good;
  half.key = client.key;
  PemTexts cut = good;
  cut.cert.resize(cut.cert.size() / 2);
  PemTexts bare = good;
  bare.ca.clear();
  for (const PemTexts& bad : {half, cut, bare, PemTexts{}}) {
    EXPECT_FALSE(identity_->Set(bad).ok());
    EXPECT_EQ(NameOf(client), "cn:operator");
  }
  EXPECT_THAT(identity_->Set(half).error().message,
              HasSubstr("the server key does not belong to the server certificate"));
  const Issuer other("other");
  PemTexts next = good;
  next.ca = other.pem();
  ASSERT_TRUE(identity_->Set(next).ok());
  EXPECT_EQ(NameOf(client), "refused");
  PemTexts of_other = other.Issue("operator");
  of_other.ca = issuer_.pem();
  EXPECT_EQ(NameOf(of_other), "cn:operator");
}

// Plan: a stream is open. The certificate changes 1,000 times; after each change somebody connects,
// and is shown the new one. The stream goes on, and memory does not grow.
TEST_F(ServerTlsTest, AThousandChangesEndNoStreamAndKeepNothing) {
  Serve(ClientCertificates::kRequire);
  const PemTexts client = issuer_.Issue("operator");
  const auto stub = Connect(client);
  grpc::ClientContext context;
  const auto stream = stub->WatchRoutes(&context, v1::WatchRoutesRequest{});
  v1::WatchRoutesResponse message;
  ASSERT_TRUE(stream->Read(&message));

  const Issuer other("other");
  const PemTexts of_other = other.Issue("server", "IP:127.0.0.1");
  const PemTexts ours = issuer_.Issue("server", "IP:127.0.0.1");
  constexpr int kChanges = 1000;
  std::size_t before = 0;
  for (int i = 0; i < kChanges; ++i) {
    if (i == kChanges / 2) before = mallinfo2().uordblks;
    const bool others = i % 2 == 0;
    PemTexts next = others ? of_other : ours;
    next.ca = issuer_.pem();
    ASSERT_TRUE(identity_->Set(next).ok());
    PemTexts caller = client;
    caller.ca = others ? other.pem() : issuer_.pem();
    ASSERT_EQ(NameOf(caller), "cn:operator") << i;
  }
  constexpr std::size_t kNoise = 4 << 20;
  EXPECT_LT(mallinfo2().uordblks, before + kNoise);

  service_.Release();
  EXPECT_TRUE(stream->Read(&message));
  EXPECT_FALSE(stream->Read(&message));
  EXPECT_TRUE(stream->Finish().ok());
}

/// Sessions that connections of gRPC leave for the next ones.
class Sessions {
 public:
  Sessions() : cache_(grpc_ssl_session_cache_create_lru(16)) {}
  ~Sessions() { grpc_ssl_session_cache_destroy(cache_); }
  Sessions(const Sessions&) = delete;
  Sessions& operator=(const Sessions&) = delete;

  grpc::ChannelArguments Arguments() const {
    const grpc_arg made = grpc_ssl_session_cache_create_channel_arg(cache_);
    grpc::ChannelArguments arguments;
    arguments.SetPointerWithVtable(made.key, made.value.pointer.p, made.value.pointer.vtable);
    return arguments;
  }

 private:
  grpc_ssl_session_cache* const cache_;
};

// Plan: a client connects again and again, each time with the session, and so the ticket, of the
// time before. It is resumed; later it is verified as if it came for the first time.
TEST_F(ServerTlsTest, ASessionIsNotResumedForEver) {
  Serve(ClientCertificates::kRequire, std::chrono::seconds(3));
  const PemTexts client = issuer_.Issue("operator");
  const Sessions sessions;
  const auto hears = [&](const std::string& said) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (Ask(*Connect(client, sessions.Arguments())).first != said) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
    }
    return true;
  };
  EXPECT_TRUE(hears("verified"));
  EXPECT_TRUE(hears("resumed"));
  EXPECT_TRUE(hears("verified"));
}

// Plan: 1,000 handshakes, each with new keys for tickets, so none resumes; memory does not grow.
TEST_F(ServerTlsTest, AThousandChangesOfTicketKeysKeepNothing) {
  Serve(ClientCertificates::kRequire, std::chrono::seconds(0));
  const PemTexts client = issuer_.Issue("operator");
  const Sessions sessions;
  constexpr int kChanges = 1000;
  std::size_t before = 0;
  for (int i = 0; i < kChanges; ++i) {
    if (i == kChanges / 2) before = mallinfo2().uordblks;
    ASSERT_EQ(Ask(*Connect(client, sessions.Arguments())).first, "verified") << i;
  }
  constexpr std::size_t kNoise = 4 << 20;
  EXPECT_LT(mallinfo2().uordblks, before + kNoise);
}

// Plan: a connection is open when its certificate expires, which is known at the next call. On a
// slow machine a certificate may expire before the first one: then another one is valid for longer.
TEST_F(ServerTlsTest, AnOpenConnectionsCertificateExpires) {
  Serve(ClientCertificates::kRequire);
  using Said = std::pair<std::string, std::string>;
  std::unique_ptr<v1::RoutingService::Stub> stub;
  Said said;
  for (std::chrono::seconds valid{2}; said.second != "valid" && valid < kPatience; valid *= 2) {
    stub = Connect(issuer_.Issue("operator", "", valid));
    said = Ask(*stub);
  }
  ASSERT_EQ(said, Said("verified", "valid"));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (said.second == "valid" && std::chrono::steady_clock::now() < deadline) said = Ask(*stub);
  EXPECT_EQ(said, Said("verified", "expired"));
}

TEST(ClientCertificate, IsReadFromTextAndFromOpenSsl) {
  const auto now = std::chrono::system_clock::now();
  const PemTexts texts = Issuer("authority").Issue("operator", "", std::chrono::hours(1));
  const ClientCertificate read = ReadClientCertificate(texts.cert);
  EXPECT_EQ(read.name, "cn:operator");
  EXPECT_EQ(read.until, ValidityOf(texts.cert)->until);
  EXPECT_GT(read.until, now);
  EXPECT_LE(ReadClientCertificate(std::string("none")).until, now);
}

}  // namespace
}  // namespace baton
