// Nodes whose own ports have TLS: who gets in, who may do what, and certificates that change while
// the node serves.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <grpcpp/grpcpp.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>

#include "baton/v1/admin.grpc.pb.h"
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

/// Asks for all shards, or for the status, so many times at once, until it is destroyed.
class Flood {
 public:
  enum class For { kShards, kStatus };
  struct Question {
    For what;
    int at_once;
  };
  Flood(const std::string& endpoint, const std::shared_ptr<grpc::ChannelCredentials>& credentials,
        Question question)
      : question_(question),
        stub_(v1::AdminService::NewStub(Connect(endpoint, credentials))),
        running_(question.at_once) {
    const int at_once = question.at_once;
    for (int i = 0; i < at_once; ++i) Ask();
  }
  ~Flood() {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.wait(lock, [this] { return running_ == 0; });
  }
  Flood(const Flood&) = delete;
  Flood& operator=(const Flood&) = delete;

  int answered() const { return answered_; }
  int refused() const { return refused_; }
  /// Because the node is busy, and not because of the caller's own limit.
  int crowded_out() const { return crowded_out_; }

 private:
  /// A connection of its own: a node takes 16 calls at once on each.
  static std::shared_ptr<grpc::Channel> Connect(
      const std::string& endpoint, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    return grpc::CreateCustomChannel(endpoint, credentials, arguments);
  }

  struct Call {
    grpc::ClientContext context;
    v1::ListShardsResponse shards;
    v1::GetStatusResponse status;
  };

  void Ask() {
    auto* const call = new Call;  // gRPC keeps the callback in the call's own memory
    call->context.set_deadline(std::chrono::system_clock::now() + kPatience);
    const auto done = [this, call](const grpc::Status& status) {
      delete call;
      Answered(status);
    };
    static const v1::ListShardsRequest all_shards;
    static const v1::GetStatusRequest status;
    if (question_.what == For::kShards) {
      stub_->async()->ListShards(&call->context, &all_shards, &call->shards, done);
    } else {
      stub_->async()->GetStatus(&call->context, &status, &call->status, done);
    }
  }
  void Answered(const grpc::Status& status) {
    const bool full = status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED;
    const bool limited = status.error_message().find("asks too often") != std::string::npos;
    if (status.ok()) ++answered_;
    if (full) ++refused_;
    if (full && !limited) ++crowded_out_;
    {
      const std::lock_guard lock(mutex_);
      if (ending_) {
        --running_;
        changed_.notify_one();
        return;
      }
    }
    Ask();
  }

  const Question question_;
  const std::unique_ptr<v1::AdminService::Stub> stub_;
  std::atomic<int> answered_{0};
  std::atomic<int> refused_{0};
  std::atomic<int> crowded_out_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  int running_;          // guarded by mutex_
  bool ending_ = false;  // guarded by mutex_
};

std::size_t Count(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
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
                                               "- {certificate: \"cn:reader*\", role: read}\n"
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
  std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const std::string& name) const {
    return grpc::SslCredentials({.pem_root_certs = ContentOf(authority_.ca()),
                                 .pem_private_key = ContentOf(authority_.key(name)),
                                 .pem_cert_chain = ContentOf(authority_.cert(name))});
  }
  /// batonctl, which writes the node's events to a file as they happen.
  std::unique_ptr<Subprocess> Follow(const NodeProcess& node, const std::string& path) const {
    std::vector<std::string> line = {BATONCTL, "--endpoint", node.endpoint()};
    for (const std::string& word : As("reader", {"events", "-f", "--after", "0"})) {
      line.push_back(word);
    }
    auto started = Subprocess::Start({.arguments = line, .output_path = path});
    if (!started) throw Unmet(started.error().message);
    return std::move(started).value();
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
  Cluster cluster_{SharedEtcd(), {.shards = 4, .ttl = kShortLease}};
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
  cluster_.AwaitLogged("n1", "change verb=PauseBalance[^\n]* by=.?cn:operator");

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

// Plan: a caller without a certificate sends a token, which the node knows, and another one. Then
// the rules lose it.
TEST_F(Tls, ATokenIsAsGoodAsACertificate) {
  std::vector<std::string> flags = NodeFlags();
  flags.insert(flags.end(), {"--tls-client-auth", "ask"});
  std::ofstream(folder_ + "/access.yaml", std::ios::app)
      << "- {token: ci, role: operate, sha256: "  // of "secret"
         "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b}\n";
  const std::string token = folder_ + "/token";
  const auto ran = [&](const std::string& word) {
    return cluster_.Ctl("n1", {"--tls-ca", authority_.ca(), "--token-file", token, word});
  };
  std::ofstream(token) << "secret\n";
  fs::permissions(token, fs::perms(0600));
  const NodeProcess& node = cluster_.Start("n1", flags);
  EXPECT_EQ(ran("whoami").out, "token ci: operate\n");
  const app::Ran paused = ran("pause");
  EXPECT_EQ(paused.exit, 0) << paused.err;
  cluster_.AwaitLogged("n1", "change verb=PauseBalance[^\n]*by=.token ci");
  std::ofstream(token) << "secret2\n";
  for (const char* word : {"whoami", "status", "resume"}) {
    const app::Ran refused = ran(word);
    EXPECT_EQ(refused.exit, 1) << word << refused.out;
    EXPECT_THAT(refused.err, HasSubstr("sent a token that does not count"));
  }
  std::ofstream(token) << "secret\n";
  std::ofstream(folder_ + "/access.yaml") << "other_hosts: probe\n";
  cluster_.Await("the token counts no more", [&] { return ran("whoami").exit == 1; });
  EXPECT_THAT(node.Log(), testing::Not(HasSubstr("secret")));
}

// Plan: somebody follows the events. The certificate is replaced, key first; while the two don't
// belong together, callers get in by the earlier one. Then the certificate's file is gone. The
// follower sees what an operator orders at the end.
TEST_F(Tls, AReplacedCertificateEndsNoStreamAndHalfAPairChangesNothing) {
  const NodeProcess& node = cluster_.Start("n1", NodeFlags());
  authority_.Issue("next");
  const auto status = [&] { return cluster_.Ctl("n1", As("reader", {"status"})).exit; };
  const std::string seen = folder_ + "/events";
  const auto follower = Follow(node, seen);

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
                 [&] { return ContentOf(seen).find("  pause  by ") != std::string::npos; });
  EXPECT_FALSE(follower->Poll().has_value()) << ContentOf(seen);
}

// Plan: the ports require certificates; at the socket the node's user needs none, and nobody else
// can open it. The node is killed, so the file stays; its successor takes the path, and removes it
// at its end.
TEST_F(Tls, AtTheAdminSocketTheNodesUserNeedsNoCertificate) {
  const std::string path = folder_ + "/admin.sock";
  std::vector<std::string> flags = NodeFlags();
  flags.insert(flags.end(), {"--admin-socket", path});
  const auto ran = [&](const std::vector<std::string>& words) {
    std::vector<std::string> line = {BATONCTL, "--endpoint", "unix:" + path};
    line.insert(line.end(), words.begin(), words.end());
    return app::RunProcess({.arguments = line, .input = {}, .watch = {}});
  };
  cluster_.Start("n1", flags);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms(0600));
  const std::string user = "uid " + std::to_string(geteuid());
  EXPECT_EQ(ran({"whoami"}).out, user + ": admin\n");
  EXPECT_EQ(ran(As("reader", {"whoami"})).out, user + ": admin\n") << "there is no TLS";
  const app::Ran paused = ran({"pause"});
  EXPECT_EQ(paused.exit, 0) << paused.err;
  cluster_.AwaitLogged("n1", "change verb=PauseBalance[^\n]*by=.?" + user);
  cluster_.node("n1").Kill();
  ASSERT_TRUE(fs::exists(path));
  cluster_.Start("n1", flags);
  EXPECT_EQ(ran({"resume"}).exit, 0);
  cluster_.node("n1").Signal(SIGTERM);
  cluster_.node("n1").WaitExit();
  EXPECT_FALSE(fs::exists(path));
}

// Plan: connections last a second. Somebody follows the events by one connection after another, and
// misses none.
TEST_F(Tls, AConnectionEndsAtItsAgeAndItsFollowerGoesOn) {
  std::vector<std::string> flags = NodeFlags();
  flags.insert(flags.end(), {"--tls-max-age", "1s"});
  const NodeProcess& node = cluster_.Start("n1", flags);
  const std::string seen = folder_ + "/events";
  const auto follower = Follow(node, seen);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(cluster_.Ctl("n1", As("operator", {i % 2 == 0 ? "pause" : "resume"})).exit, 0);
    const auto times = [&](const std::string& word) { return Count(ContentOf(seen), word); };
    const auto expected = static_cast<std::size_t>(i / 2 + 1);
    cluster_.Await("the follower sees it", [&] {
      return times(i % 2 == 0 ? "  pause  by " : "  resume  by ") == expected;
    });
    const auto until = BootClock::now() + std::chrono::seconds(2);
    cluster_.Await("its connection is too old", [&] { return BootClock::now() >= until; });
  }
  EXPECT_FALSE(follower->Poll().has_value()) << ContentOf(seen);
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

/// The sum of a count of all floods.
int SumOf(const std::vector<std::unique_ptr<Flood>>& floods, int (Flood::*count)() const) {
  int all = 0;
  for (const auto& flood : floods) all += (flood.get()->*count)();
  return all;
}

// Plan: four readers ask for all shards, 256 questions at once on 16 connections, more than the
// node answers. An operator gets all that it asks for.
TEST_F(Tls, AFloodOfQuestionsKeepsNoOperatorOut) {
  Cluster cluster(SharedEtcd(), {.shards = 2000, .ttl = kShortLease});
  const NodeProcess& node = cluster.Start("n1", NodeFlags());
  cluster.Await("the node leads",
                [&] { return cluster.Ctl("n1", As("reader", {"health"})).exit == 0; });
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 4; ++i) {
    const std::string reader = "reader" + std::to_string(i);
    authority_.Issue(reader);
    for (int connection = 0; connection < 4; ++connection) {
      floods.push_back(std::make_unique<Flood>(node.endpoint(), CredentialsOf(reader),
                                               Flood::Question{Flood::For::kShards, 16}));
    }
  }
  ASSERT_TRUE(Eventually(kPatience, [&] { return SumOf(floods, &Flood::crowded_out) > 0; }))
      << "the node answers them all";
  for (int i = 0; i < 5; ++i) {
    for (const char* word : {"pause", "status", "resume", "health"}) {
      const app::Ran ran = cluster.Ctl("n1", As("operator", {word}));
      EXPECT_EQ(ran.exit, 0) << word << ": " << ran.err;
    }
  }
}

// Plan: a reader of this host asks as often as it can, on four connections. It gets what its limit
// says, and an operator drains the node and has it examined. Another reader and a probe are not
// concerned.
TEST_F(Tls, ACallerWhoAsksTooOftenHasALimitAndOperatorsHaveNone) {
  const NodeProcess& node = cluster_.Start("n1", NodeFlags());
  cluster_.Start("n2", NodeFlags());
  authority_.Issue("reader2");
  cluster_.Await("the nodes lead",
                 [&] { return cluster_.Ctl("n1", As("reader2", {"health"})).exit == 0; });
  const auto began = BootClock::now();
  std::vector<std::unique_ptr<Flood>> floods;
  for (int i = 0; i < 4; ++i) {
    floods.push_back(std::make_unique<Flood>(node.endpoint(), CredentialsOf("reader"),
                                             Flood::Question{Flood::For::kStatus, 64}));
  }
  ASSERT_TRUE(Eventually(kPatience, [&] { return SumOf(floods, &Flood::refused) > 20'000; }));
  const auto asked = std::chrono::duration<double>(BootClock::now() - began).count();
  RecordProperty("calls_a_second", static_cast<int>(SumOf(floods, &Flood::refused) / asked));
  const auto before = BootClock::now();
  const app::Ran drained = cluster_.Ctl("n1", As("operator", {"nodes", "drain", "n1"}));
  EXPECT_EQ(drained.exit, 0) << drained.err;
  const auto took = BootClock::now() - before;
  RecordProperty("drain_ms", static_cast<int>(took / std::chrono::milliseconds(1)));
  const app::Ran undrained = cluster_.Ctl("n1", As("operator", {"nodes", "undrain", "n1"}));
  EXPECT_EQ(undrained.exit, 0) << undrained.err;
  const app::Ran examined = cluster_.Ctl("n1", As("operator", {"doctor"}));
  EXPECT_THAT(examined.out, HasSubstr("session")) << examined.err;
  EXPECT_EQ(cluster_.Ctl("n1", As("reader2", {"status"})).exit, 0);
  app::Ran refused;  // once in a while its question is the one that is answered
  cluster_.Await("the reader is refused", [&] {
    refused = cluster_.Ctl("n1", As("reader", {"status"}));
    return refused.exit == 1;
  });
  EXPECT_THAT(refused.err, HasSubstr("cn:reader asks too often: at most 50 questions a second"));
  EXPECT_EQ(cluster_.Ctl("n1", As("reader", {"whoami"})).exit, 0);
  const auto passed = std::chrono::duration<double>(BootClock::now() - began).count();
  EXPECT_LE(SumOf(floods, &Flood::answered), 500 + 50 * passed + 1);
  EXPECT_EQ(node.Log().find("session lost"), std::string::npos);
  EXPECT_THAT(node.Log(),
              testing::ContainsRegex("read refused what=GetStatus why=too_often by=.?cn:reader"));
}

}  // namespace
}  // namespace baton::e2e
