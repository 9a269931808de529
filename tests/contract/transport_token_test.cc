// Answers that no etcd gives, from servers of the test's own: logins without a usable token, and
// answers without etcd's header.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/transport_support.h"
#include "etcd/etcd.grpc.pb.h"

namespace baton::etcd::test {
namespace {

/// Answers the n-th login with the n-th token, later ones with the last; implements nothing else.
class Server final : public etcdserverpb::Auth::Service {
 public:
  explicit Server(std::vector<std::string> tokens) : tokens_(std::move(tokens)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }

  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }
  std::size_t logins() const { return logins_; }

  grpc::Status Authenticate(grpc::ServerContext*, const etcdserverpb::AuthenticateRequest*,
                            etcdserverpb::AuthenticateResponse* response) override {
    response->mutable_header()->set_revision(1);
    response->set_token(tokens_[std::min(logins_++, tokens_.size() - 1)]);
    return grpc::Status::OK;
  }

 private:
  const std::vector<std::string> tokens_;
  std::atomic<std::size_t> logins_{0};
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

GrpcTransportOptions Options(std::vector<std::string> endpoints) {
  return {.endpoints = std::move(endpoints), .user = "node", .password = "first"};
}

// Plan: no token; two lines, and a letter that is not ASCII, with which gRPC would end the process;
// a space and too many bytes, which the transport refuses itself. With a good token the call is
// made, which this server does not know.
TEST(TransportToken, IsNoneWhereACallCannotCarryIt) {
  const std::string too_long(10'000, 'a');
  for (const std::string& token :
       {std::string(), std::string("two\nlines"), std::string("caf\xC3\xA9"),
        std::string("with space"), too_long}) {
    const Server server({token});
    const auto transport = Connect(Options({server.endpoint()}));
    const CallStatus status = Put(*transport, "/baton/k", "v").status;
    EXPECT_EQ(status.outcome, Outcome::kUnknown) << token;
    EXPECT_FALSE(status.permanent) << token;
    EXPECT_EQ(status.message.find(server.endpoint() + ": UNAVAILABLE: a login was answered"), 0u)
        << status.message;
  }
  const Server server({"abc.12"});
  const auto transport = Connect(Options({server.endpoint()}));
  EXPECT_EQ(Put(*transport, "/baton/k", "v").status.code, grpc::StatusCode::UNIMPLEMENTED);
}

// Plan: the first member's tokens can't be used. The second one's can.
TEST(TransportToken, OfAnotherMemberWillDo) {
  const Server bad({"two\nlines"});
  const Server good({"abc.12"});
  GrpcTransportOptions options = Options({bad.endpoint(), good.endpoint()});
  options.first = FirstEndpoint::kFirst;
  const auto transport = Connect(options);
  EXPECT_EQ(Put(*transport, "/baton/k", "v").status.code, grpc::StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(bad.logins(), 1u);
  EXPECT_EQ(good.logins(), 1u);
}

// Plan: the token is renewed with every call, and no renewal brings one. The calls use the first
// token.
TEST(TransportToken, OutlivesARenewalThatBringsNone) {
  Server server({"abc.12", "two\nlines"});
  GrpcTransportOptions options = Options({server.endpoint()});
  options.token_renewal = std::chrono::milliseconds(1);
  const auto transport = Connect(options);
  const TimePoint patience = BootClock::now() + kPatience;
  while (server.logins() < 2 && BootClock::now() < patience) {
    EXPECT_EQ(Put(*transport, "/baton/k", "v").status.code, grpc::StatusCode::UNIMPLEMENTED);
  }
  EXPECT_GE(server.logins(), 2u);
  EXPECT_EQ(Put(*transport, "/baton/k", "v").status.code, grpc::StatusCode::UNIMPLEMENTED);
}

/// Answers OK without a header, as a proxy might.
class NoEtcd final : public etcdserverpb::KV::Service {
 public:
  NoEtcd() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::string endpoint() const { return "127.0.0.1:" + std::to_string(port_); }

  grpc::Status Range(grpc::ServerContext*, const etcdserverpb::RangeRequest*,
                     etcdserverpb::RangeResponse*) override {
    return grpc::Status::OK;
  }
  grpc::Status Txn(grpc::ServerContext*, const etcdserverpb::TxnRequest*,
                   etcdserverpb::TxnResponse*) override {
    return grpc::Status::OK;
  }

 private:
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

// Plan: an empty answer would look like a refused write, and like a key that is absent.
TEST(TransportAnswers, WithoutAHeaderAreNone) {
  const NoEtcd server;
  const auto transport = Connect({.endpoints = {server.endpoint()}});
  const CallStatus put = Put(*transport, "/baton/k", "v").status;
  EXPECT_EQ(put.outcome, Outcome::kUnknown);
  EXPECT_NE(put.message.find("this is no answer of etcd"), std::string::npos) << put.message;
  EXPECT_EQ(Get(*transport, "/baton/k").status.outcome, Outcome::kUnknown);
}

}  // namespace
}  // namespace baton::etcd::test
