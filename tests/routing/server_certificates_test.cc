// The certificates of a gRPC server that is not batond's: shown to new connections when their files
// change, by gRPC's own listeners.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "baton/credentials.h"
#include "baton/grpc.h"
#include "lab/certificates.h"
#include "routing/scripted_routes.h"

namespace baton::routing {
namespace {

using lab::Issuer;
using ::testing::HasSubstr;

/// Says which name the caller's certificate has.
class NamingService final : public v1::RoutingService::Service {
 public:
  grpc::Status Lookup(grpc::ServerContext* context, const v1::LookupRequest*,
                      v1::LookupResponse* response) override {
    response->set_group(CertifiedAs(*context));
    return grpc::Status::OK;
  }
};

/// The sockets of this process that accept connections.
int ListeningSockets() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    int accepts = 0;
    socklen_t size = sizeof accepts;
    const int descriptor = std::atoi(entry.path().filename().c_str());
    if (getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0) count += accepts;
  }
  return count;
}

class ServerCertificatesTest : public testing::Test {
 protected:
  ServerCertificatesTest() {
    std::string name = testing::TempDir() + "server-certificates-XXXXXX";
    folder_ = mkdtemp(name.data());
    Write("ca", issuer_.pem());
    Certify(issuer_);
  }
  ~ServerCertificatesTest() override {
    if (server_ != nullptr) server_->Shutdown();
    std::filesystem::remove_all(folder_);
  }

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  void Write(const std::string& name, const std::string& content) const {
    std::ofstream(Path("next")) << content;
    std::filesystem::rename(Path("next"), Path(name));
  }
  void Certify(const Issuer& issuer) const {
    const PemTexts texts = issuer.Issue("server", "IP:127.0.0.1,DNS:localhost");
    Write("cert", texts.cert);
    Write("key", texts.key);
  }
  ServerCertificateFiles Files() const {
    return {.cert_file = Path("cert"), .key_file = Path("key"), .client_ca_file = Path("ca")};
  }
  void Serve(const std::string& address, const ServerCertificateFiles& files) {
    auto read = ServerCertificates::FromFiles(files);
    ASSERT_TRUE(read.ok()) << read.error().message;
    certificates_ = *std::move(read);
    grpc::ServerBuilder builder;
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::NUM_CQS, 4);
    certificates_->AddListeningPort(builder, address, &port_);
    LimitServer(builder);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
  }
  /// A stub with a connection of its own.
  std::unique_ptr<v1::RoutingService::Stub> Connect(const PemTexts& client,
                                                    const std::string& target) const {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride("localhost");
    return v1::RoutingService::NewStub(
        grpc::CreateCustomChannel(target,
                                  grpc::SslCredentials({.pem_root_certs = client.ca,
                                                        .pem_private_key = client.key,
                                                        .pem_cert_chain = client.cert}),
                                  arguments));
  }
  /// Whom the server takes the caller for; "refused": no connection.
  static std::string Ask(v1::RoutingService::Stub& stub) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::LookupResponse response;
    const grpc::Status status = stub.Lookup(&context, {}, &response);
    if (status.error_code() == grpc::StatusCode::UNAVAILABLE) return "refused";
    return status.ok() ? response.group() : status.error_message();
  }
  std::string AskOverANewConnection(const PemTexts& client) const {
    return Ask(*Connect(client, "127.0.0.1:" + std::to_string(port_)));
  }

  const Issuer issuer_{"authority"};
  std::string folder_;
  std::unique_ptr<ServerCertificates> certificates_;
  NamingService service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Plan: a caller is connected. Certificate and key change one after the other, to those of another
// authority; the one who is connected stays so, the next one needs the new authority. Then clients
// of another authority are wanted.
TEST_F(ServerCertificatesTest, ChangeWithTheirFilesForNewConnections) {
  Serve("127.0.0.1:0", Files());
  ASSERT_NE(server_, nullptr);
  PemTexts client = issuer_.Issue("caller");
  const auto connected = Connect(client, "127.0.0.1:" + std::to_string(port_));
  EXPECT_EQ(Ask(*connected), "caller");
  EXPECT_EQ(AskOverANewConnection({.ca = issuer_.pem()}), "refused");

  const Issuer later("later authority");
  const PemTexts renewed = later.Issue("server", "DNS:localhost");
  Write("key", renewed.key);
  EXPECT_TRUE(Until([&] { return !certificates_->problem().empty(); }));
  EXPECT_EQ(certificates_->problem(), "the server key does not belong to the server certificate");
  EXPECT_EQ(AskOverANewConnection(client), "caller");
  Write("cert", renewed.cert);
  client.ca = later.pem();
  EXPECT_TRUE(Until([&] { return AskOverANewConnection(client) == "caller"; }));
  EXPECT_TRUE(Until([&] { return certificates_->problem().empty(); }));
  EXPECT_EQ(Ask(*connected), "caller");

  Write("ca", later.pem());
  EXPECT_TRUE(Until([&] { return AskOverANewConnection(client) == "refused"; }));
  EXPECT_EQ(AskOverANewConnection(later.Issue("later caller")), "later caller");
  EXPECT_EQ(Ask(*connected), "caller");
}

// Plan: while many callers connect at once, the certificate changes again and again. Everybody gets
// in, and the address has one socket: from several ones gRPC would accept on several threads.
TEST_F(ServerCertificatesTest, ChangeUnderManyHandshakes) {
  const int before = ListeningSockets();
  Serve("127.0.0.1:0", Files());
  ASSERT_NE(server_, nullptr);
  EXPECT_EQ(ListeningSockets(), before + 1);
  const PemTexts client = issuer_.Issue("caller");
  std::atomic<int> served{0};
  constexpr int kCallers = 4;
  constexpr int kRounds = 10;
  std::vector<std::thread> callers;
  for (int i = 0; i < kCallers; ++i) {
    callers.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        if (AskOverANewConnection(client) == "caller") ++served;
      }
    });
  }
  Certify(issuer_);
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(served, kCallers * kRounds);
}

// Plan: a name with an address or two; each has a socket, with the same port. A unix socket.
TEST_F(ServerCertificatesTest, ServeEachAddressOfANameAndUnixSockets) {
  Serve("localhost:0", Files());
  ASSERT_NE(server_, nullptr);
  EXPECT_EQ(AskOverANewConnection(issuer_.Issue("caller")), "caller");
  server_->Shutdown();
  Serve("unix:" + Path("socket"), Files());
  ASSERT_NE(server_, nullptr);
  EXPECT_EQ(Ask(*Connect(issuer_.Issue("caller"), "unix:" + Path("socket"))), "caller");
}

TEST_F(ServerCertificatesTest, NothingListensAtABadAddress) {
  for (const char* const address : {":7400", "127.0.0.1", "[::1]", "127.0.0.1:x", "192.0.2.1:0"}) {
    Serve(address, Files());
    EXPECT_EQ(server_, nullptr) << address;
  }
}

TEST_F(ServerCertificatesTest, AskForNoCertificateWithoutAnAuthority) {
  ServerCertificateFiles files = Files();
  files.client_ca_file.clear();
  Serve("127.0.0.1:0", files);
  ASSERT_NE(server_, nullptr);
  EXPECT_EQ(AskOverANewConnection({.ca = issuer_.pem()}), "");
}

TEST_F(ServerCertificatesTest, RefuseInvalidFiles) {
  Write("foreign", issuer_.Issue("other").key);
  const std::array<std::pair<ServerCertificateFiles, std::string>, 4> cases = {{
      {{}, "cert_file or key_file is empty; name both files"},
      {{.cert_file = Path("cert"), .key_file = Path("none")}, "can't read " + Path("none")},
      {{.cert_file = Path("cert"), .key_file = Path("foreign")},
       "the server key does not belong to the server certificate"},
      {{.cert_file = Path("cert"), .key_file = Path("key"), .client_ca_file = Path("key")},
       "the CA certificate"},
  }};
  for (const auto& [files, said] : cases) {
    const auto read = ServerCertificates::FromFiles(files);
    ASSERT_FALSE(read.ok()) << said;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(read.error().message, HasSubstr(said));
  }
}

// Plan: a second server is told to listen where a first one does. It does not start, instead of
// taking a part of the first one's connections.
TEST(LimitedServer, SharesItsPortWithNoOther) {
  NamingService services[2];
  const auto start = [](const std::string& address, NamingService& service, int* port) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), port);
    builder.RegisterService(&service);
    LimitServer(builder);
    return builder.BuildAndStart();
  };
  int port = 0;
  const auto first = start("127.0.0.1:0", services[0], &port);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(start("127.0.0.1:" + std::to_string(port), services[1], nullptr), nullptr);
}

}  // namespace
}  // namespace baton::routing
