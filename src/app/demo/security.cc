#include "app/demo/security.h"

#include <grpcpp/grpcpp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "app/ctl/client.h"
#include "app/ctl/client_files.h"
#include "base/grpc/channel_limits.h"
#include "baton/v1/admin.grpc.pb.h"

namespace baton::app {
namespace {

using Verb = runtime::PolicyRequest::Verb;
using std::chrono::milliseconds;

// A call that is refused in the handshake is tried again until its deadline.
constexpr milliseconds kRefusedWithin{1000};
constexpr std::uint64_t kCallsAfterwards = 50;

/// OpenSSL's writes to a connection that was closed raise SIGPIPE, which is Ctrl-C to batonctl.
/// Meanwhile they raise nothing on this thread.
class NoBrokenPipes {
 public:
  NoBrokenPipes() {
    sigemptyset(&broken_pipe_);
    sigaddset(&broken_pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &broken_pipe_, &before_);
  }
  ~NoBrokenPipes() {
    const timespec now{};
    while (sigtimedwait(&broken_pipe_, nullptr, &now) == SIGPIPE) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipes(const NoBrokenPipes&) = delete;
  NoBrokenPipes& operator=(const NoBrokenPipes&) = delete;

 private:
  sigset_t broken_pipe_{};
  sigset_t before_{};
};

/// A port of this host, as it shows itself to a client.
struct Shown {
  std::string serial;   ///< of its certificate; empty: there was no handshake
  bool served = false;  ///< it answered an HTTP request
};

Shown Ask(const std::string& endpoint, const ClientTls& tls) {
  const NoBrokenPipes quiet;
  Shown shown;
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                             SSL_CTX_free);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_load_verify_file(context.get(), tls.ca.c_str());
  if (!tls.cert.empty()) {
    SSL_CTX_use_certificate_chain_file(context.get(), tls.cert.c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), tls.key.c_str(), SSL_FILETYPE_PEM);
  }
  const std::unique_ptr<SSL, void (*)(SSL*)> stream(SSL_new(context.get()), SSL_free);
  BIO* const socket = BIO_new_connect(endpoint.c_str());
  SSL_set_bio(stream.get(), socket, socket);
  if (BIO_do_connect(socket) != 1) return shown;
  const timeval patience{.tv_sec = 5, .tv_usec = 0};
  setsockopt(static_cast<int>(BIO_get_fd(socket, nullptr)), SOL_SOCKET, SO_RCVTIMEO, &patience,
             sizeof patience);
  if (SSL_connect(stream.get()) != 1) return shown;
  const X509* const certificate = SSL_get0_peer_certificate(stream.get());
  char* const serial = i2s_ASN1_INTEGER(nullptr, X509_get0_serialNumber(certificate));
  shown.serial = serial;
  OPENSSL_free(serial);
  const std::string get = "GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  std::array<char, 12> status{};
  shown.served = SSL_write(stream.get(), get.data(), static_cast<int>(get.size())) > 0 &&
                 SSL_read(stream.get(), status.data(), static_cast<int>(status.size())) > 0;
  return shown;
}

/// A stream of a node's events, opened once and read until this object's end. Thread-safe.
class EventStream {
 public:
  EventStream(const std::string& endpoint, const PemTexts& pems) {
    grpc::ChannelArguments arguments;
    LimitChannel(arguments);
    stub_ = v1::AdminService::NewStub(grpc::CreateCustomChannel(
        endpoint,
        grpc::SslCredentials(
            {.pem_root_certs = pems.ca, .pem_private_key = pems.key, .pem_cert_chain = pems.cert}),
        arguments));
    thread_ = std::thread([this] { Read(); });
  }
  ~EventStream() {
    context_.TryCancel();
    thread_.join();
  }
  EventStream(const EventStream&) = delete;
  EventStream& operator=(const EventStream&) = delete;

  bool began() const { return began_; }
  bool ended() const { return ended_; }
  std::uint64_t events() const { return events_; }
  std::uint64_t missing() const { return missing_; }
  std::uint64_t changes() const { return changes_; }

 private:
  void Read() {
    const auto reader = stub_->WatchEvents(&context_, {});
    v1::WatchEventsResponse page;
    std::uint64_t next = 0;
    while (reader->Read(&page)) {
      for (const v1::Event& event : page.events()) {
        missing_ += began_ && event.seq() > next ? event.seq() - next : 0;
        next = event.seq() + 1;
        ++events_;
        changes_ += event.change().empty() ? 0 : 1;
      }
      next = page.upto() + 1;
      began_ = true;
    }
    ended_ = true;
  }

  std::unique_ptr<v1::AdminService::Stub> stub_;
  grpc::ClientContext context_;
  std::atomic<bool> began_{false};
  std::atomic<bool> ended_{false};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::uint64_t> missing_{0};
  std::atomic<std::uint64_t> changes_{0};  ///< events that are what an operator ordered
  std::thread thread_;
};

/// Asks all nodes for their shards, again and again, each on a connection that stays open.
class Load {
 public:
  void Add(const std::string& endpoint, const ClientTls& tls) {
    clients_.push_back(std::make_unique<AdminClient>(endpoint, tls));
  }
  void Begin() {
    thread_ = std::make_unique<Repeater>([this] {
      for (const auto& client : clients_) {
        const auto answer = client->ListShards(BootClock::now() + std::chrono::seconds(30));
        ++(answer ? answered : failed);
      }
      return Duration::zero();
    });
  }

  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> failed{0};

 private:
  std::vector<std::unique_ptr<AdminClient>> clients_;
  std::unique_ptr<Repeater> thread_;
};

}  // namespace

std::vector<NodeIndex> DemoSecurity::Running() const {
  std::vector<NodeIndex> running;
  for (NodeIndex node = 0; node < cluster_->size(); ++node) {
    if (cluster_->running(node)) running.push_back(node);
  }
  return running;
}

void DemoSecurity::ReplaceCertificates() {
  report_.Part("Who gets in; and all certificates are replaced under load");
  const Start before = Begin();
  ClaimRefused();
  ClaimReaderReads();
  const Result<PemTexts> pems = ReadClientPems(cluster_->tls(kDemoReader));
  if (!pems) throw DemoAbort{pems.error()};
  std::deque<EventStream> streams;
  Load load;
  for (const NodeIndex node : Running()) {
    streams.emplace_back(cluster_->endpoint(node), *pems);
    // An operator's: a reader's calls have a limit.
    load.Add(cluster_->endpoint(node), cluster_->tls());
  }
  load.Begin();
  const auto all = [&](const auto& holds) {
    return std::all_of(streams.begin(), streams.end(), holds);
  };
  const auto sum = [&](auto count) {
    std::uint64_t total = 0;
    for (const EventStream& stream : streams) total += (stream.*count)();
    return total;
  };
  WaitUntil(kPatience, [&] { return all([](const auto& s) { return s.began() || s.ended(); }); });
  Order(Verb::kPause);
  ClaimReplaced(Serials());
  Order(Verb::kResume);
  const std::uint64_t calls = load.answered;
  WaitUntil(kPatience, [&] {
    return load.answered >= calls + kCallsAfterwards &&
           all([](const auto& stream) { return stream.changes() >= 2 || stream.ended(); });
  });
  const bool on = all([](const auto& stream) { return stream.changes() >= 2 && !stream.ended(); });
  const std::uint64_t missing = sum(&EventStream::missing);
  Claim({.holds = on && missing == 0,
         .claim = "streams of events that were open go on",
         .measured = fmt::format("{} streams, {} events, {} missing", streams.size(),
                                 Grouped(sum(&EventStream::events)), Grouped(missing))});
  Claim({.holds = load.failed == 0,
         .claim = "calls go on",
         .measured =
             fmt::format("{} answered, {} failed", Grouped(load.answered), Grouped(load.failed))});
  ClaimFewest(before, 0, [](const SeenChange&) { return false; });
  ClaimSafe();
}

void DemoSecurity::ClaimRefused() {
  int refused = 0;
  int served = 0;
  int ports = 0;
  const ClientTls mine = cluster_->tls(kDemoReader);
  for (const ClientTls& tls : {ClientTls{.ca = mine.ca}, mine}) {
    int& in = tls.cert.empty() ? refused : served;
    for (const NodeIndex node : Running()) {
      AdminClient client(cluster_->endpoint(node), tls);
      const auto bound = tls.cert.empty() ? kRefusedWithin : milliseconds(kPatience);
      in += client.GetStatus(false, BootClock::now() + bound).ok() == !tls.cert.empty() ? 1 : 0;
      in += Ask(cluster_->http_endpoint(node), tls).served == !tls.cert.empty() ? 1 : 0;
      ports += tls.cert.empty() ? 2 : 0;
    }
  }
  Claim({.holds = refused == ports && served == ports,
         .claim = "no certificate: refused; with one: served",
         .measured = fmt::format("{} and {} of {} ports, gRPC and HTTP", refused, served, ports)});
}

void DemoSecurity::ClaimReaderReads() {
  const NodeIndex node = Running().back();
  AdminClient client(cluster_->endpoint(node), cluster_->tls(kDemoReader));
  runtime::PolicyRequest drain;
  drain.verb = Verb::kDrain;
  drain.node = cluster_->name(node);
  const Status asked = client.Request(drain, BootClock::now() + kPatience);
  const std::string why = asked.ok() ? "it was drained" : asked.error().message;
  Claim({.holds = !asked.ok() && why.find("needs the role operate") != std::string::npos,
         .claim = "a reader may not drain a node",
         .measured = why.substr(0, why.find(';'))});
}

void DemoSecurity::Order(Verb verb) {
  AdminClient client(cluster_->endpoint(Running().back()), cluster_->tls());
  runtime::PolicyRequest order;
  order.verb = verb;
  order.actor = ActorName();
  const Status done = client.Request(order, BootClock::now() + kPatience);
  if (!done) throw DemoAbort{done.error()};
}

std::vector<std::string> DemoSecurity::Serials() const {
  const ClientTls tls = cluster_->tls();
  std::vector<std::string> serials = {Ask(cluster_->etcd_endpoint(), tls).serial};
  for (const NodeIndex node : Running()) {
    serials.push_back(Ask(cluster_->endpoint(node), tls).serial);
    serials.push_back(Ask(cluster_->http_endpoint(node), tls).serial);
  }
  return serials;
}

void DemoSecurity::ClaimReplaced(const std::vector<std::string>& before) {
  const TimePoint begun = BootClock::now();
  if (const Status done = cluster_->certificates()->Renew(); !done) throw DemoAbort{done.error()};
  std::size_t replaced = 0;
  WaitUntil(kPatience, [&] {
    const std::vector<std::string> now = Serials();
    replaced = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
      replaced += !now[i].empty() && now[i] != before[i] ? 1 : 0;
    }
    return replaced == before.size();
  });
  Claim({.holds = replaced == before.size(),
         .claim = "new connections see new certificates",
         .measured = fmt::format("{} of {} ports, etcd's too, after {}", replaced, before.size(),
                                 TimeWord(BootClock::now() - begun))});
}

}  // namespace baton::app
