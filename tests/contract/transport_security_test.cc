// Users, tokens and TLS of GrpcTransport against a real etcd.
#include <openssl/pem.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "base/clock.h"
#include "base/subprocess.h"
#include "contract/transport_support.h"

namespace baton::etcd::test {
namespace {

using std::chrono::milliseconds;

std::string Content(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// Runs a shell script; a failure shows its output.
void RunScript(const std::string& script, const std::string& folder) {
  const std::string output = folder + "/script.log";
  const auto status = RunProgram({.arguments = {"sh", "-ec", script}, .output_path = output},
                                 BootClock::now() + kPatience);
  ASSERT_TRUE(status.ok()) << status.error().message;
  ASSERT_TRUE(status.value().success()) << Content(output);
}

std::string UnderTheEmptyPassword(const std::string& key_pem) {
  BIO* const from = BIO_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size()));
  EVP_PKEY* const key = PEM_read_bio_PrivateKey(from, nullptr, nullptr, nullptr);
  BIO* const to = BIO_new(BIO_s_mem());
  PEM_write_bio_PKCS8PrivateKey(to, key, EVP_aes_256_cbc(), "", 0, nullptr, nullptr);
  char* begin = nullptr;
  const auto size = static_cast<std::size_t>(BIO_get_mem_data(to, &begin));
  std::string text(begin, size);
  BIO_free(to);
  EVP_PKEY_free(key);
  BIO_free(from);
  return text;
}

// etcd with a user "node" that may use keys below /baton/, and an administrator.
class TransportUser : public testing::Test {
 protected:
  void SetUp() override {
    etcd_ = StartEtcd({.members = 1});
    ASSERT_NE(etcd_, nullptr);
    const std::string ctl = "ETCDCTL_API=3 etcdctl --endpoints=" + etcd_->endpoints()[0] + " ";
    as_root_ = ctl + "--user=root:top ";
    RunScript(ctl + "user add root:top; " + ctl + "user add node:first; " + ctl + "role add r; " +
                  ctl + "role grant-permission --prefix r readwrite /baton/; " + ctl +
                  "user grant-role node r; " + ctl + "user grant-role root root || true; " + ctl +
                  "auth enable",
              etcd_->folder());
    options_ = {.endpoints = etcd_->endpoints(),
                .user = "node",
                .password = "first",
                .on_call =
                    [this](std::string_view method, int code, std::chrono::nanoseconds) {
                      attempts_.Add(std::string(method) + " " + StatusCodeName(code));
                    },
                .on_credentials =
                    [this](const std::string& what, const CallStatus& status) {
                      told_.Add(what + (status.ok() ? " taken" : " not taken"));
                    }};
  }
  void ChangePassword(const std::string& password) {
    RunScript("echo " + password + " | " + as_root_ + "user passwd node --interactive=false",
              etcd_->folder());
  }
  std::size_t Count(const std::string& attempt) {
    const auto all = attempts_.Values();
    return static_cast<std::size_t>(std::count(all.begin(), all.end(), attempt));
  }

  std::unique_ptr<lab::PrivateEtcd> etcd_;
  std::string as_root_;
  Recorder<std::string> attempts_;
  Recorder<std::string> told_;
  GrpcTransportOptions options_;
};

// Plan: 20 calls at once on a new transport: one authentication serves all.
TEST_F(TransportUser, AuthenticatesOnceForAllCalls) {
  const auto transport = Connect(options_);
  Recorder<CallStatus> answers;
  etcdserverpb::TxnRequest request;
  AddPut(request, "/baton/k", "v");
  for (int i = 0; i < 20; ++i) {
    transport->Txn(
        std::make_shared<etcdserverpb::TxnRequest>(request), kDeadline,
        [&answers](Reply<etcdserverpb::TxnResponse> reply) { answers.Add(reply.status); });
  }
  for (const CallStatus& status : answers.WaitForCount(20)) {
    EXPECT_TRUE(status.ok()) << status.message;
  }
  EXPECT_EQ(Count("Authenticate OK"), 1u);
  EXPECT_EQ(Count("Txn OK"), 20u);
}

// Plan: a key outside the role: refused as permanent, after one new token at most. A wrong
// password, and no user at all: the same.
TEST_F(TransportUser, RefusesForGoodWhatTheRoleForbids) {
  const auto transport = Connect(options_);
  const auto denied = Put(*transport, "/other", "v");
  EXPECT_EQ(denied.status.outcome, Outcome::kRefused) << denied.status.message;
  EXPECT_TRUE(denied.status.permanent);
  EXPECT_LE(Count("Authenticate OK"), 2u);

  options_.password = "wrong";
  const auto wrong = Put(*Connect(options_), "/baton/k", "v");
  EXPECT_EQ(wrong.status.outcome, Outcome::kRefused) << wrong.status.message;
  EXPECT_TRUE(wrong.status.permanent);

  const auto nobody = Put(*Connect({.endpoints = etcd_->endpoints()}), "/baton/k", "v");
  EXPECT_EQ(nobody.status.outcome, Outcome::kRefused) << nobody.status.message;
  EXPECT_TRUE(nobody.status.permanent);
}

// Plan: set the same password again, which voids the user's tokens. The next write is refused for
// its token, and done with a new one; the caller notices nothing.
TEST_F(TransportUser, SendsAgainUnderANewTokenWhereTheOldOneIsVoid) {
  const auto transport = Connect(options_);
  ASSERT_TRUE(Put(*transport, "/baton/k", "1").status.ok());
  ChangePassword("first");
  const auto put = Put(*transport, "/baton/k", "2");
  EXPECT_TRUE(put.status.ok()) << put.status.message;
  EXPECT_EQ(attempts_.Values(),
            (std::vector<std::string>{"Authenticate OK", "Txn OK", "Txn UNAUTHENTICATED",
                                      "Authenticate OK", "Txn OK"}));
}

// Plan: with a void token a watch is created and cancelled. It ends as unknown, because the role
// may well allow it; the next one works with a new token.
TEST_F(TransportUser, OpensTheNextWatchUnderANewToken) {
  const auto transport = Connect(options_);
  const auto put = Put(*transport, "/baton/k", "1");
  ASSERT_TRUE(put.status.ok());
  const auto request = WatchFrom("/baton/", put.response.header().revision());
  ChangePassword("first");
  WatchLog first_log;
  const auto first = transport->OpenWatch(request, "", first_log.Handler());
  const auto ended = first_log.ended.WaitForCount(1);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].outcome, Outcome::kUnknown) << ended[0].message;
  WatchLog second_log;
  const auto second = transport->OpenWatch(request, "", second_log.Handler());
  EXPECT_EQ(second_log.WaitForEvents(1).size(), 1u);
  EXPECT_TRUE(second_log.ended.Values().empty());
}

// Plan: restart etcd between two writes: at most the dead connection's answer is unknown; nothing
// is refused.
TEST_F(TransportUser, RefusesNothingBecauseEtcdRestarted) {
  const auto transport = Connect(options_);
  ASSERT_TRUE(Put(*transport, "/baton/k", "1").status.ok());
  ASSERT_TRUE(etcd_->Restart(0).ok());
  Reply<etcdserverpb::TxnResponse> put;
  const TimePoint patience = BootClock::now() + kPatience;
  while (!put.status.ok() && BootClock::now() < patience) {
    put = Put(*transport, "/baton/k", "2");
    ASSERT_NE(put.status.outcome, Outcome::kRefused) << put.status.message;
  }
  EXPECT_TRUE(put.status.ok()) << put.status.message;
}

// Plan: change the password in etcd first: the present token is void and the old password wrong, so
// calls are refused as permanent until the transport gets the new one.
TEST_F(TransportUser, SurvivesAChangeOfPassword) {
  const auto transport = Connect(options_);
  ASSERT_TRUE(Put(*transport, "/baton/k", "1").status.ok());
  ChangePassword("second");
  const auto refused = Put(*transport, "/baton/k", "2");
  EXPECT_EQ(refused.status.outcome, Outcome::kRefused) << refused.status.message;
  EXPECT_TRUE(refused.status.permanent);
  ASSERT_TRUE(transport->SetCredentials({.password = "second"}).ok());
  const auto put = Put(*transport, "/baton/k", "3");
  EXPECT_TRUE(put.status.ok()) << put.status.message;
}

// Plan: the transport gets the new password first. etcd refuses it, so the old one is used, also
// for the next token; that is reported once. Then etcd gets it: the token is void, the very next
// call is done with a new one, and that is reported, too.
TEST_F(TransportUser, UsesTheOldPasswordUntilEtcdHasTheNewOne) {
  options_.token_renewal = milliseconds(200);
  const auto transport = Connect(options_);
  ASSERT_TRUE(Put(*transport, "/baton/k", "1").status.ok());
  ASSERT_TRUE(transport->SetCredentials({.password = "second"}).ok());
  const TimePoint patience = BootClock::now() + kPatience;
  while (Count("Authenticate OK") < 3 && BootClock::now() < patience) {
    const auto put = Put(*transport, "/baton/k", "2");
    ASSERT_TRUE(put.status.ok()) << put.status.message;
  }
  EXPECT_GE(Count("Authenticate OK"), 3u) << "under the old password";
  EXPECT_EQ(told_.Values(), std::vector<std::string>{"password not taken"});
  ChangePassword("second");
  const auto put = Put(*transport, "/baton/k", "3");
  EXPECT_TRUE(put.status.ok()) << put.status.message;
  EXPECT_EQ(told_.Values(), (std::vector<std::string>{"password not taken", "password taken"}));
}

// Plan: invalid credentials are refused, and nothing changes.
TEST_F(TransportUser, RefusesCredentialsOfAnotherKind) {
  const auto transport = Connect(options_);
  const auto message = [&](const EtcdCredentials& credentials) {
    const baton::Status set = transport->SetCredentials(credentials);
    return set.ok() ? std::string("ok") : set.error().message;
  };
  EXPECT_EQ(message({}), "no password for etcd's user");
  EXPECT_EQ(message({.password = "first", .ca_pem = "nothing"}),
            "the CA certificate is not PEM text");
  EXPECT_TRUE(Put(*transport, "/baton/k", "1").status.ok());
  const auto nobody = Connect({.endpoints = etcd_->endpoints()});
  const baton::Status set = nobody->SetCredentials({.password = "first"});
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().message, "an etcd password was given, but no user was given at the start");
}

// Plan: with a short renewal age, calls use the old token while the next one is requested.
TEST_F(TransportUser, RenewsItsTokenInTheBackground) {
  options_.token_renewal = milliseconds(200);
  const auto transport = Connect(options_);
  const TimePoint patience = BootClock::now() + kPatience;
  while (Count("Authenticate OK") < 3 && BootClock::now() < patience) {
    ASSERT_TRUE(Put(*transport, "/baton/k", "1").status.ok());
  }
  EXPECT_GE(Count("Authenticate OK"), 3u);
  EXPECT_EQ(Count("Txn UNAUTHENTICATED"), 0u);
}

// Plan: freeze etcd before the first token arrives: the call is answered by its own deadline, and
// so is a later one with a longer deadline.
TEST_F(TransportUser, WaitsForATokenNoLongerThanTheDeadline) {
  const auto transport = Connect(options_);
  etcd_->Pause(0);
  const TimePoint before = BootClock::now();
  const auto put = Put(*transport, "/baton/k", "1", milliseconds(300));
  EXPECT_EQ(put.status.outcome, Outcome::kUnknown);
  EXPECT_LT(BootClock::now() - before, std::chrono::seconds(5));
  etcd_->Resume(0);
  EXPECT_TRUE(Put(*transport, "/baton/k", "2").status.ok());
}

// etcd with TLS and client certificates, all made here.
class TransportTls : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "/baton-tls-XXXXXX";
    ASSERT_NE(mkdtemp(folder_.data()), nullptr);
    const std::string make =
        "cd " + folder_ +
        "; for ca in ca other; do openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=$ca "
        "-keyout $ca.key -out $ca.pem; done; "
        "echo 'subjectAltName=IP:127.0.0.1' > names; "
        "for who in server:ca client:ca later:other; do ca=${who#*:}; who=${who%:*}; "
        "openssl req -newkey rsa:2048 -nodes -subj /CN=$who -keyout $who.key -out $who.csr; "
        "openssl x509 -req -in $who.csr -CA $ca.pem -CAkey $ca.key -CAcreateserial -days 2 "
        "-extfile names -out $who.pem; done; cp ca.pem clients.pem";
    RunScript(make, folder_);
    etcd_ = StartEtcd({.members = 1,
                       .tls = {.cert_path = folder_ + "/server.pem",
                               .key_path = folder_ + "/server.key",
                               .client_ca_path = folder_ + "/clients.pem"}});
    ASSERT_NE(etcd_, nullptr);
  }
  /// A client's certificate, for an etcd whose certificate "ca" signed.
  EtcdCredentials Client(const std::string& name) const {
    return {.ca_pem = Pem("ca.pem"), .cert_pem = Pem(name + ".pem"), .key_pem = Pem(name + ".key")};
  }
  std::unique_ptr<GrpcTransport> ConnectAs(const EtcdCredentials& credentials) {
    return Connect({.endpoints = etcd_->endpoints(),
                    .ca_pem = credentials.ca_pem,
                    .cert_pem = credentials.cert_pem,
                    .key_pem = credentials.key_pem,
                    .on_credentials = [this](const std::string& what, const CallStatus& status) {
                      told_.Add(what + (status.ok() ? " taken" : " not taken"));
                    }});
  }
  std::string Told(const char* how) const {
    return "certificates at " + etcd_->endpoints().front() + " " + how;
  }
  void TearDown() override { RunScript("rm -r " + folder_, "/tmp"); }
  std::string Pem(const std::string& name) const { return Content(folder_ + "/" + name); }

  std::string folder_;
  std::unique_ptr<lab::PrivateEtcd> etcd_;
  Recorder<std::string> told_;
};

// Plan: with the right CA and a client certificate calls and streams work.
TEST_F(TransportTls, WorksWithACertificate) {
  const auto transport = Connect({.endpoints = etcd_->endpoints(),
                                  .ca_pem = Pem("ca.pem"),
                                  .cert_pem = Pem("client.pem"),
                                  .key_pem = Pem("client.key")});
  const auto put = Put(*transport, "w/k", "v");
  ASSERT_TRUE(put.status.ok()) << put.status.message;
  WatchLog log;
  const auto watch = transport->OpenWatch(WatchFrom("w/", 1), "", log.Handler());
  EXPECT_EQ(log.WaitForEvents(1).size(), 1u);
}

// Plan: etcd has users, and the client gives no password: etcd takes the user from the
// certificate's name. Within the role's keys calls and streams work, also with a renewed
// certificate of that name. A write elsewhere, or with the name of no user, is refused as
// permanent.
TEST_F(TransportTls, IsTheUserThatItsCertificateNames) {
  const std::string ctl =
      "cd " + folder_ + "; ctl='etcdctl --endpoints=https://" + etcd_->endpoints().front() +
      " --cacert=ca.pem --cert=client.pem --key=client.key'; export ETCDCTL_API=3; ";
  RunScript(
      ctl +
          "$ctl user add root:top; $ctl user grant-role root root || true; "
          "$ctl user add --no-password client; $ctl role add r; "
          "$ctl role grant-permission --prefix r readwrite /baton/; "
          "$ctl user grant-role client r; $ctl auth enable; "
          "openssl req -newkey rsa:2048 -nodes -subj /CN=client -keyout renewed.key -out "
          "renewed.csr; "
          "openssl x509 -req -in renewed.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 "
          "-extfile names -out renewed.pem",
      folder_);
  const auto transport = ConnectAs(Client("client"));
  WatchLog log;
  const auto watch = transport->OpenWatch(WatchFrom("/baton/", 1), "", log.Handler());
  const auto put = Put(*transport, "/baton/k", "1");
  ASSERT_TRUE(put.status.ok()) << put.status.message;
  EXPECT_EQ(log.WaitForEvents(1).size(), 1u);
  const auto elsewhere = Put(*transport, "/other", "1");
  EXPECT_EQ(elsewhere.status.outcome, Outcome::kRefused) << elsewhere.status.message;
  EXPECT_TRUE(elsewhere.status.permanent);

  ASSERT_TRUE(transport->SetCredentials(Client("renewed")).ok());
  EXPECT_EQ(told_.WaitForCount(1), std::vector<std::string>{Told("taken")});
  EXPECT_TRUE(Put(*transport, "/baton/k", "2").status.ok());

  const auto stranger = Put(*ConnectAs(Client("server")), "/baton/k", "3");
  EXPECT_EQ(stranger.status.outcome, Outcome::kRefused) << stranger.status.message;
  EXPECT_TRUE(stranger.status.permanent);
}

// Plan: another CA, and no client certificate: never done, and answered in time.
TEST_F(TransportTls, ReachesNothingWithoutTrust) {
  const auto stranger = Connect({.endpoints = etcd_->endpoints(),
                                 .ca_pem = Pem("other.pem"),
                                 .cert_pem = Pem("client.pem"),
                                 .key_pem = Pem("client.key")});
  EXPECT_EQ(Put(*stranger, "k", "v", milliseconds(2000)).status.outcome, Outcome::kUnknown);
  const auto nobody = Connect({.endpoints = etcd_->endpoints(), .ca_pem = Pem("ca.pem")});
  EXPECT_EQ(Put(*nobody, "k", "v", milliseconds(2000)).status.outcome, Outcome::kUnknown);
}

// Plan: a certificate of an authority that etcd does not trust yet: reported once, and nothing
// fails. Then etcd trusts it, and no longer the old one: it is used from the first calls on.
TEST_F(TransportTls, UsesANewCertificateOnceEtcdTakesIt) {
  const auto transport = ConnectAs(Client("client"));
  ASSERT_TRUE(Put(*transport, "w/k", "1").status.ok());
  ASSERT_TRUE(transport->SetCredentials(Client("later")).ok());
  ASSERT_EQ(told_.WaitForCount(1), std::vector<std::string>{Told("not taken")});
  for (int i = 0; i < 20; ++i) {
    const auto put = Put(*transport, "w/k", "2");
    ASSERT_TRUE(put.status.ok()) << put.status.message;
  }
  RunScript("cp " + folder_ + "/other.pem " + folder_ + "/clients.pem", folder_);
  ASSERT_TRUE(etcd_->Restart(0).ok());
  const TimePoint patience = BootClock::now() + kPatience;
  Reply<etcdserverpb::TxnResponse> put;
  while (!put.status.ok() && BootClock::now() < patience) {
    put = Put(*transport, "w/k", "3", milliseconds(500));
    ASSERT_NE(put.status.outcome, Outcome::kRefused) << put.status.message;
  }
  EXPECT_TRUE(put.status.ok()) << put.status.message;
  EXPECT_EQ(told_.WaitForCount(2), (std::vector<std::string>{Told("not taken"), Told("taken")}));
  const auto stranger = ConnectAs(Client("client"));
  EXPECT_FALSE(Put(*stranger, "w/k", "4", milliseconds(1000)).status.ok());
}

// Plan: the client trusts a new authority before etcd's certificate comes from it: reported, and
// calls go on. Then etcd gets that certificate: calls go on with the new trust.
TEST_F(TransportTls, FollowsEtcdToAnotherAuthority) {
  const auto transport = ConnectAs(Client("client"));
  ASSERT_TRUE(Put(*transport, "w/k", "1").status.ok());
  EtcdCredentials later = Client("client");
  later.ca_pem = Pem("other.pem");
  ASSERT_TRUE(transport->SetCredentials(later).ok());
  ASSERT_EQ(told_.WaitForCount(1), std::vector<std::string>{Told("not taken")});
  ASSERT_TRUE(Put(*transport, "w/k", "2").status.ok());
  RunScript("cd " + folder_ + "; cp later.pem server.pem; cp later.key server.key", folder_);
  ASSERT_TRUE(etcd_->Restart(0).ok());
  const TimePoint patience = BootClock::now() + kPatience;
  Reply<etcdserverpb::TxnResponse> put;
  while (!put.status.ok() && BootClock::now() < patience) {
    put = Put(*transport, "w/k", "3", milliseconds(500));
  }
  EXPECT_TRUE(put.status.ok()) << put.status.message;
  EXPECT_EQ(told_.WaitForCount(2), (std::vector<std::string>{Told("not taken"), Told("taken")}));
}

// Plan: a new certificate that etcd accepts at once: calls use it, and an open watch goes on.
// Setting the same once more changes nothing.
TEST_F(TransportTls, LeavesStreamsAsTheyAreWhenCertificatesChange) {
  RunScript("cd " + folder_ + "; cat ca.pem other.pem > clients.pem", folder_);
  ASSERT_TRUE(etcd_->Restart(0).ok());
  const auto transport = ConnectAs(Client("client"));
  const auto first = Put(*transport, "w/k", "1");
  ASSERT_TRUE(first.status.ok()) << first.status.message;
  WatchLog log;
  const auto watch =
      transport->OpenWatch(WatchFrom("w/", first.response.header().revision()), "", log.Handler());
  ASSERT_EQ(log.WaitForEvents(1).size(), 1u);
  ASSERT_TRUE(transport->SetCredentials(Client("later")).ok());
  ASSERT_EQ(told_.WaitForCount(1), std::vector<std::string>{Told("taken")});
  ASSERT_TRUE(transport->SetCredentials(Client("later")).ok());
  ASSERT_TRUE(Put(*transport, "w/k", "2").status.ok());
  EXPECT_EQ(log.WaitForEvents(2).size(), 2u);
  EXPECT_TRUE(log.ended.Values().empty());
  EXPECT_EQ(told_.Values().size(), 1u);
}

// Plan: a key that belongs to another certificate, half a pair, TLS without TLS at the start: each
// is refused with its reason, and calls go on as before.
TEST_F(TransportTls, RefusesCertificatesThatDoNotFit) {
  const auto transport = ConnectAs(Client("client"));
  const auto message = [&](const std::function<void(EtcdCredentials&)>& change) {
    EtcdCredentials credentials = Client("client");
    change(credentials);
    const baton::Status set = transport->SetCredentials(credentials);
    return set.ok() ? std::string("ok") : set.error().message;
  };
  EXPECT_EQ(message([&](auto& its) { its.key_pem = Pem("later.key"); }),
            "the client key does not belong to the client certificate");
  EXPECT_EQ(message([&](auto& its) { its.key_pem = its.key_pem.substr(0, 300); }),
            "the client key's PEM text can't be read; it must not need a password");
  EXPECT_EQ(message([&](auto& its) { its.key_pem = UnderTheEmptyPassword(its.key_pem); }),
            "the client key's PEM text can't be read; it must not need a password");
  EXPECT_EQ(message([&](auto& its) { its.cert_pem = its.cert_pem.substr(0, 300); }),
            "the client certificate's PEM text can't be read");
  EXPECT_EQ(message([&](auto& its) { its.ca_pem += its.ca_pem.substr(0, 300); }),
            "the CA certificate's PEM text can't be read");
  EXPECT_EQ(message([](auto& its) { its.cert_pem.clear(); }),
            "a client certificate and its key go together: give both or none");
  EXPECT_TRUE(Put(*transport, "w/k", "1").status.ok());
  EXPECT_TRUE(told_.Values().empty());
  const auto plain = Connect({.endpoints = {"127.0.0.1:1"}});
  const baton::Status set = plain->SetCredentials(Client("client"));
  ASSERT_FALSE(set.ok());
  EXPECT_EQ(set.error().message, "certificates were given, but TLS was off at the start");
}

}  // namespace
}  // namespace baton::etcd::test
