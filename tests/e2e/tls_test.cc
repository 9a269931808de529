// Nodes whose own ports have TLS: who gets in, who may do what, and certificates that change while
// the node serves.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>

#include "e2e/authority.h"
#include "e2e/cluster.h"

namespace baton::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

std::string ContentOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A handshake without a certificate. The server has signed before it refuses that.
void Knock(std::uint16_t port) {
  namespace net = boost::asio;
  net::io_context io;
  net::ssl::context context(net::ssl::context::tls_client);
  net::ssl::stream<net::ip::tcp::socket> stream(io, context);
  boost::system::error_code error;
  stream.next_layer().connect({net::ip::address_v4::loopback(), port}, error);
  if (!error) stream.handshake(net::ssl::stream_base::client, error);
}

class Tls : public testing::Test {
 protected:
  Tls() {
    for (const char* name : {"node", "operator", "reader", "stranger"}) authority_.Issue(name);
  }
  ~Tls() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  /// The flags of a node that requires certificates. It reads copies, which tests replace.
  std::vector<std::string> NodeFlags() {
    std::ofstream(folder_ + "/access.yaml") << "rules:\n"
                                               "- {certificate: \"cn:operator\", role: operate}\n"
                                               "- {certificate: \"cn:reader\", role: read}\n"
                                               "- {certificate: \"*\", role: probe}\n";
    Use("node");
    return {"--tls-cert", folder_ + "/node.pem",    "--tls-key",       folder_ + "/node.key",
            "--access",   folder_ + "/access.yaml", "--tls-client-ca", authority_.ca()};
  }
  /// Puts the certificate `name` where the node reads its own.
  void Use(const std::string& name) const {
    Replace(authority_.cert(name), folder_ + "/node.pem");
    Replace(authority_.key(name), folder_ + "/node.key");
  }
  static void Replace(const std::string& from, const std::string& to) {
    fs::copy_file(from, to + ".new", fs::copy_options::overwrite_existing);
    fs::rename(to + ".new", to);
  }
  /// The words of batonctl, with a certificate.
  std::vector<std::string> As(const std::string& name, std::vector<std::string> words) const {
    for (const std::string& word :
         {std::string("--tls-ca"), authority_.ca(), std::string("--tls-cert"),
          authority_.cert(name), std::string("--tls-key"), authority_.key(name)}) {
      words.push_back(word);
    }
    return words;
  }
  /// The serial number of the certificate that a node shows now.
  static std::string SerialAt(const std::string& endpoint) {
    const std::string output = FreshFolder() + "/serial";
    RunScript("openssl s_client -connect " + endpoint +
              " </dev/null 2>/dev/null | openssl x509 -noout -serial >" + output);
    const std::string serial = ContentOf(output);
    fs::remove_all(fs::path(output).parent_path());
    return serial;
  }

  const Authority authority_;
  const std::string folder_ = FreshFolder();
  Cluster cluster_{SharedEtcd(), {.shards = 4}};
};

TEST_F(Tls, TheCertificateDecidesWhoGetsInAndWhoMayDoWhat) {
  cluster_.Start("n1", NodeFlags());
  const auto ran = [&](const std::string& who, const std::string& word) {
    return cluster_.Ctl("n1", As(who, {word}));
  };
  EXPECT_THAT(ran("operator", "whoami").out, HasSubstr("cn:operator"));
  EXPECT_THAT(ran("operator", "whoami").out, HasSubstr("operate"));
  EXPECT_EQ(ran("reader", "status").exit, 0);
  const app::Ran reader = ran("reader", "pause");
  EXPECT_EQ(reader.exit, 1);
  EXPECT_THAT(reader.err, HasSubstr("cn:reader may not do this: it needs the role operate"));
  const app::Ran stranger = ran("stranger", "status");
  EXPECT_EQ(stranger.exit, 1);
  EXPECT_THAT(stranger.err, HasSubstr("cn:stranger may not do this: it needs the role read"));
  EXPECT_EQ(ran("operator", "pause").exit, 0);
  EXPECT_THAT(cluster_.node("n1").Log(),
              testing::ContainsRegex("change verb=PauseBalance[^\n]* by=.?cn:operator"));

  const app::Ran bare = cluster_.Ctl("n1", {"status"});
  EXPECT_EQ(bare.exit, 3);
  EXPECT_THAT(bare.err, HasSubstr("--tls-ca"));
  EXPECT_EQ(cluster_.Ctl("n1", {"status", "--tls-ca", authority_.ca()}).exit, 3);
  const app::Ran halved = cluster_.Ctl(
      "n1", {"status", "--tls-ca", authority_.ca(), "--tls-cert", authority_.cert("reader")});
  EXPECT_EQ(halved.exit, 2);
  EXPECT_THAT(halved.err, HasSubstr("a client certificate and its key go together"));
  Authority other;
  other.Issue("operator");
  EXPECT_EQ(cluster_
                .Ctl("n1", {"status", "--tls-ca", authority_.ca(), "--tls-cert",
                            other.cert("operator"), "--tls-key", other.key("operator")})
                .exit,
            3);
}

// Plan: somebody follows the events. The certificate is replaced, key first; while the two don't
// belong together, callers get in by the earlier one. Then the authority's file is gone. The
// follower sees what an operator orders at the end.
TEST_F(Tls, AReplacedCertificateEndsNoStreamAndHalfAPairChangesNothing) {
  const NodeProcess& node = cluster_.Start("n1", NodeFlags());
  authority_.Issue("next");
  const auto status = [&] { return cluster_.Ctl("n1", As("reader", {"status"})).exit; };
  const std::string seen = folder_ + "/events";
  std::vector<std::string> follow = {BATONCTL, "--endpoint", node.endpoint()};
  for (const std::string& word : As("reader", {"events", "-f"})) follow.push_back(word);
  auto follower = Subprocess::Start({.arguments = follow, .output_path = seen});
  ASSERT_TRUE(follower.ok()) << follower.error().message;

  const std::string before = SerialAt(node.endpoint());
  ASSERT_THAT(before, HasSubstr("serial="));
  Replace(authority_.key("next"), folder_ + "/node.key");
  const auto logged = [&](const std::string& words) {
    cluster_.Await("the node says: " + words,
                   [&] { return node.Log().find(words) != std::string::npos; });
  };
  logged("the server key does not belong to the server certificate");
  EXPECT_EQ(status(), 0);
  EXPECT_EQ(SerialAt(node.endpoint()), before);
  Replace(authority_.cert("next"), folder_ + "/node.pem");
  logged("the certificates of --tls-cert have changed in their files");
  EXPECT_EQ(status(), 0);
  EXPECT_NE(SerialAt(node.endpoint()), before);
  fs::remove(folder_ + "/node.pem");
  logged("can't read " + folder_ + "/node.pem");
  EXPECT_EQ(status(), 0);

  EXPECT_EQ(cluster_.Ctl("n1", As("operator", {"pause"})).exit, 0);
  cluster_.Await("the follower sees it",
                 [&] { return ContentOf(seen).find("pause") != std::string::npos; });
  EXPECT_FALSE((*follower)->Poll().has_value()) << ContentOf(seen);
}

// Plan: four strangers without a certificate do nothing but begin handshakes, at both ports, for
// three leases' time. The node keeps its lease, and an operator gets in.
TEST_F(Tls, AFloodOfHandshakesCostsNoLease) {
  const NodeProcess& node = cluster_.Start("n1", NodeFlags());
  cluster_.Await("the node leads",
                 [&] { return cluster_.Ctl("n1", As("reader", {"health"})).exit == 0; });
  const auto until = BootClock::now() + 3 * cluster_.ttl();
  std::atomic<int> tried{0};
  {
    std::vector<std::jthread> strangers;
    for (int i = 0; i < 4; ++i) {
      const std::string port = i % 2 == 0 ? node.endpoint().substr(node.endpoint().rfind(':') + 1)
                                          : std::to_string(node.http_port());
      strangers.emplace_back([&, port] {
        while (BootClock::now() < until) {
          Knock(static_cast<std::uint16_t>(std::stoi(port)));
          ++tried;
        }
      });
    }
    EXPECT_EQ(cluster_.Ctl("n1", As("operator", {"pause"})).exit, 0);
  }
  EXPECT_GT(tried, 0);
  EXPECT_EQ(node.Log().find("suspended"), std::string::npos);
  EXPECT_EQ(node.Log().find("session lost"), std::string::npos);
  EXPECT_EQ(cluster_.Ctl("n1", As("reader", {"health"})).exit, 0);
}

}  // namespace
}  // namespace baton::e2e
