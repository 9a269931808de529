#include "etcd/grpc/core.h"

#include <arpa/inet.h>

#include <algorithm>
#include <random>
#include <utility>

#include "base/check.h"
#include "base/endpoint.h"
#include "base/grpc/channel_limits.h"
#include "etcd/grpc/unary.h"

namespace baton::etcd {
namespace {

// After a restart all nodes want a handshake at once; on a busy machine one took half a second.
constexpr std::chrono::milliseconds kHandshake{1000};
constexpr Duration kProbeBound = std::chrono::seconds(1);
constexpr Duration kTrialBound = std::chrono::seconds(2);
// Between trials while the earlier certificates work; gRPC logs each handshake that fails.
constexpr Duration kTrialPause = std::chrono::seconds(1);
constexpr Duration kLongestTrialPause = std::chrono::seconds(30);
// gRPC looks a name that it did not find up ever more seldom, at last every 2 minutes. If an
// endpoint with a name can't be reached for this long, new connections look it up again.
constexpr Duration kLookUpAnew = std::chrono::seconds(5);

grpc::ChannelArguments ChannelArgumentsOf(const GrpcTransportOptions& options, Security security) {
  const auto milliseconds = [](std::chrono::milliseconds value) {
    return static_cast<int>(value.count());
  };
  grpc::ChannelArguments arguments;
  // Otherwise channels with equal arguments share a connection, and a stuck watch would hold up
  // keepalives.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, milliseconds(options.reconnect_first));
  const auto handshake = security == Security::kTls ? kHandshake : std::chrono::milliseconds(0);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS,
                   milliseconds(options.connect_timeout + handshake));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds(options.reconnect_longest));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.ping_interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.ping_timeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  // An idle watch sends no data for days and must still be pinged.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A probe's timer would use the connection beside its queue's thread (completions.h). Without
  // probes the window stays as it is: wide enough for 100 MB a second over 10 ms.
  arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 20);
  // A restarted etcd may have another address (Kubernetes); gRPC's default is 30 s.
  arguments.SetInt(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000);
  // Don't use the host's proxy and service configuration to reach etcd.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  LimitChannel(arguments);
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(const EtcdCredentials& credentials,
                                                               Security security) {
  if (security == Security::kPlain) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = credentials.ca_pem,
                               .pem_private_key = credentials.key_pem,
                               .pem_cert_chain = credentials.cert_pem});
}

enum class Connect { kAtOnce, kWhenUsed };

struct Way {
  Endpoint endpoint;
  Connect when = Connect::kWhenUsed;
};

std::shared_ptr<EndpointStubs> StubsOf(const GrpcTransportOptions& options,
                                       const EtcdCredentials& credentials, const Way& way) {
  const bool plain = way.endpoint.security == Security::kPlain;
  const std::string& address = way.endpoint.address;
  const std::string target = plain ? LocalhostAsAddress(address) : address;
  const auto connect = [&] {
    auto channel =
        grpc::CreateCustomChannel(target, ChannelCredentialsOf(credentials, way.endpoint.security),
                                  ChannelArgumentsOf(options, way.endpoint.security));
    channel->GetState(way.when == Connect::kAtOnce);
    return channel;
  };
  const auto unary = connect(), keepalive = connect(), watch = connect();
  return std::make_shared<EndpointStubs>(
      EndpointStubs{.channels = {unary, keepalive, watch},
                    .kv = etcdserverpb::KV::NewStub(unary),
                    .lease = etcdserverpb::Lease::NewStub(unary),
                    .auth = etcdserverpb::Auth::NewStub(unary),
                    .maintenance = etcdserverpb::Maintenance::NewStub(unary),
                    .keepalive = etcdserverpb::Lease::NewStub(keepalive),
                    .watch = etcdserverpb::Watch::NewStub(watch)});
}

bool SameCertificates(const EtcdCredentials& one, const EtcdCredentials& other) {
  return one.ca_pem == other.ca_pem && one.cert_pem == other.cert_pem &&
         one.key_pem == other.key_pem;
}

// Whether the status is an answer of etcd itself, even an error: then etcd accepted the connection.
bool IsEtcdsAnswer(int code) {
  switch (code) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::UNIMPLEMENTED: return true;
    default: return false;
  }
}

bool HasName(const Endpoint& endpoint) {
  in_addr four{};
  const std::string host = endpoint.address.substr(0, endpoint.address.rfind(':'));
  return !host.starts_with('[') && inet_pton(AF_INET, host.c_str(), &four) != 1;
}

std::size_t FirstOf(const GrpcTransportOptions& options, std::size_t count) {
  if (options.first == FirstEndpoint::kFirst) return 0;
  return std::random_device{}() % count;
}

}  // namespace

gpr_timespec GrpcDeadline(Duration left) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

void AddToken(grpc::ClientContext& context, const Token& token) {
  if (!token.value.empty()) context.AddMetadata("token", token.value);
}

GrpcCore::GrpcCore(GrpcTransportOptions options, const std::vector<Endpoint>& endpoints,
                   EtcdCredentials credentials)
    : options_(std::move(options)),
      endpoints_(endpoints),
      tokens_(*this, options_.user, credentials.password),
      credentials_(std::move(credentials)),
      book_(endpoints.size(), FirstOf(options_, endpoints.size())) {
  // Connects to the first endpoint at once. If the watch had to wait for its connection after the
  // snapshot, it would begin behind the store, and etcd serves such watches only every 100 ms.
  const std::size_t first = book_.Current(BootClock::now());
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const Connect when = i == first ? Connect::kAtOnce : Connect::kWhenUsed;
    connections_.push_back({.current = StubsOf(options_, credentials_, {endpoints[i], when})});
  }
}

GrpcCore::~GrpcCore() { BATON_CHECK(closing() && operations_.empty()); }

bool GrpcCore::Register(std::shared_ptr<Operation> operation) {
  const std::lock_guard lock(mutex_);
  if (closing()) return false;
  Operation* const key = operation.get();
  operations_.emplace(key, std::move(operation));
  return true;
}

std::shared_ptr<Operation> GrpcCore::Unregister(Operation* operation) {
  const std::lock_guard lock(mutex_);
  auto node = operations_.extract(operation);
  // Notifies under the lock: after it is released, Close may return and this object be gone.
  if (operations_.empty()) all_over_.notify_all();
  return node ? std::move(node.mapped()) : nullptr;
}

void GrpcCore::Close() {
  BATON_CHECK(!CallbackScope::Inside());
  std::vector<std::shared_ptr<Operation>> operations;
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    for (const auto& [key, operation] : operations_) operations.push_back(operation);
  }
  for (const auto& operation : operations) operation->Cancel();
  operations.clear();
  std::unique_lock lock(mutex_);
  all_over_.wait(lock, [this] { return operations_.empty(); });
}

std::size_t GrpcCore::CurrentEndpoint() {
  const std::lock_guard lock(mutex_);
  return book_.Current(BootClock::now());
}

std::optional<std::size_t> GrpcCore::NextEndpoint(const std::vector<bool>& tried) {
  const std::lock_guard lock(mutex_);
  return book_.NextAfter(tried, BootClock::now());
}

std::size_t GrpcCore::EndpointOtherThan(const std::string& avoid) {
  std::vector<bool> avoided(endpoints_.size(), false);
  for (std::size_t i = 0; i < endpoints_.size(); ++i) avoided[i] = address(i) == avoid;
  const auto other = NextEndpoint(avoided);
  return other ? *other : CurrentEndpoint();
}

void GrpcCore::ReportAnswered(std::size_t endpoint) {
  const std::lock_guard lock(mutex_);
  book_.Answered(endpoint, BootClock::now());
  NoteReached(connections_[endpoint]);
}

// REQUIRES: mutex_ is locked.
void GrpcCore::NoteReached(Connections& connections) {
  connections.unreachable_since = TimePoint::max();
  if (connections.wanted == Newer::kLookUp) connections.wanted = Newer::kNone;
}

// etcd itself says UNAVAILABLE, too, for example if it has no leader. Then the connection is ready.
void GrpcCore::ReportUnavailable(std::size_t endpoint, Use use) {
  const auto channel = stubs(endpoint)->channels[static_cast<std::size_t>(use)];
  const grpc_connectivity_state state = channel->GetState(false);
  const TimePoint now = BootClock::now();
  const std::lock_guard lock(mutex_);
  book_.Unavailable(endpoint, now);
  Connections& connections = connections_[endpoint];
  if (state == GRPC_CHANNEL_READY) NoteReached(connections);
  if (state == GRPC_CHANNEL_TRANSIENT_FAILURE) {
    connections.unreachable_since = std::min(connections.unreachable_since, now);
  }
  if (connections.wanted == Newer::kNone && HasName(endpoints_[endpoint]) &&
      connections.unreachable_since < now - kLookUpAnew) {
    connections.wanted = Newer::kLookUp;
  }
  // Its certificates may be the cause, so try the newer ones soon.
  connections.pause = connections.wanted == Newer::kLookUp ? kLookUpAnew : kTrialPause;
}

void GrpcCore::ReportMissed(std::size_t endpoint, TimePoint sent) {
  const std::lock_guard lock(mutex_);
  book_.Missed(endpoint, sent, BootClock::now());
}

std::shared_ptr<EndpointStubs> GrpcCore::stubs(std::size_t endpoint) {
  const std::lock_guard lock(mutex_);
  return connections_[endpoint].current;
}

void GrpcCore::StartDueProbes() {
  StartDueTrials();
  const TimePoint now = BootClock::now();
  for (;;) {
    std::optional<std::size_t> due;
    {
      const std::lock_guard lock(mutex_);
      due = book_.TakeProbe(now);
    }
    if (!due) return;
    etcdserverpb::RangeRequest request;
    request.set_key(std::string(1, '\0'));
    request.set_count_only(true);
    // The call itself has reported any answer already.
    StartUnary<RangeMethod>(*this, Share(request), now + kProbeBound,
                            [this, endpoint = *due](const Reply<etcdserverpb::RangeResponse>&) {
                              const std::lock_guard lock(mutex_);
                              if (book_.Quarantined(endpoint))
                                book_.ProbeFailed(endpoint, BootClock::now());
                            },
                            {.only_endpoint = due});
  }
}

bool GrpcCore::uses_tls() const {
  return std::any_of(endpoints_.begin(), endpoints_.end(),
                     [](const Endpoint& each) { return each.security == Security::kTls; });
}

void GrpcCore::SetCredentials(const EtcdCredentials& credentials) {
  tokens_.SetPassword(credentials.password);
  std::vector<std::shared_ptr<EndpointStubs>> replaced;  // destroyed without the lock
  {
    const std::lock_guard lock(mutex_);
    if (SameCertificates(std::exchange(credentials_, credentials), credentials)) return;
    for (std::size_t i = 0; i < endpoints_.size(); ++i) {
      if (endpoints_[i].security != Security::kTls) continue;
      Connections& connections = connections_[i];
      replaced.push_back(std::move(connections.trial));
      connections = {.current = std::move(connections.current), .wanted = Newer::kCertificates};
    }
  }
  StartDueTrials();
}

void GrpcCore::StartDueTrials() {
  const TimePoint now = BootClock::now();
  std::vector<Trial> due;
  EtcdCredentials credentials;
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Connections& connections = connections_[i];
      const bool rests = now < connections.tried_at + connections.pause;
      if (connections.wanted == Newer::kNone || connections.trial != nullptr || rests) continue;
      connections.tried_at = now;
      connections.pause = std::clamp(2 * connections.pause, kTrialPause, kLongestTrialPause);
      due.push_back({.endpoint = i, .why = connections.wanted});
    }
    if (!due.empty()) credentials = credentials_;
  }
  for (Trial& trial : due) StartTrial(std::move(trial), credentials);
}

// Uses connections that end with the trial if it fails; gRPC would go on trying to connect.
void GrpcCore::StartTrial(Trial trial, const EtcdCredentials& credentials) {
  const std::size_t endpoint = trial.endpoint;
  const auto stubs = trial.stubs = StubsOf(options_, credentials, {endpoints_[endpoint]});
  {
    const std::lock_guard lock(mutex_);
    if (!SameCertificates(credentials_, credentials)) return;
    connections_[endpoint].trial = stubs;
  }
  StartUnary<StatusMethod>(
      *this, Share(etcdserverpb::StatusRequest()), BootClock::now() + kTrialBound,
      [this, trial = std::move(trial)](const Reply<etcdserverpb::StatusResponse>& reply) {
        Tried(trial, reply.status);
      },
      {.only_endpoint = endpoint, .through = stubs});
}

// A member's own status needs neither a raft leader nor a token, so an answer shows only that the
// handshake succeeded. If etcd has answered on the present connections meanwhile, its name needs no
// other ones.
void GrpcCore::Tried(const Trial& trial, const CallStatus& status) {
  const bool taken = IsEtcdsAnswer(status.code);
  std::shared_ptr<EndpointStubs> replaced;  // destroyed without the lock
  bool tell = false;
  {
    const std::lock_guard lock(mutex_);
    Connections& connections = connections_[trial.endpoint];
    if (connections.trial != trial.stubs || closing()) return;
    replaced = std::exchange(connections.trial, nullptr);
    tell = trial.why == Newer::kCertificates && (taken || !std::exchange(connections.told, true));
    if (taken && connections.wanted == trial.why) {
      std::swap(replaced, connections.current);
      connections.wanted = Newer::kNone;
      NoteReached(connections);
    }
  }
  if (!tell) return;
  const CallStatus done{.outcome = Outcome::kDone, .code = 0, .message = ""};
  TellOfCredentials("certificates at " + address(trial.endpoint), taken ? done : status);
}

void GrpcCore::TellOfCredentials(const std::string& what, const CallStatus& status) {
  if (!options_.on_credentials) return;
  const CallbackScope scope;
  options_.on_credentials(what, status);
}

}  // namespace baton::etcd
