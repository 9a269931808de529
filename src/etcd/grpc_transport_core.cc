#include "etcd/grpc_transport_core.h"

#include <random>

#include "base/check.h"
#include "etcd/grpc_transport_unary.h"

namespace baton::etcd {
namespace {

constexpr Duration kProbeBound = std::chrono::seconds(1);

grpc::ChannelArguments ChannelArgumentsOf(const GrpcTransportOptions& options) {
  const auto milliseconds = [](std::chrono::milliseconds value) {
    return static_cast<int>(value.count());
  };
  grpc::ChannelArguments arguments;
  // Channels of equal arguments share one connection otherwise, and a stuck watch would hold up
  // keepalives.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, milliseconds(options.reconnect_first));
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, milliseconds(options.connect_timeout));
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, milliseconds(options.reconnect_longest));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, milliseconds(options.ping_interval));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, milliseconds(options.ping_timeout));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 0);
  // An idle watch sends no data for days and is pinged all the same.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  // A host's proxy and service configuration are for the world outside, not for its etcd.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  return arguments;
}

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const GrpcTransportOptions& options,
                                                        Security security) {
  if (security == Security::kPlain) return grpc::InsecureChannelCredentials();
  return grpc::SslCredentials({.pem_root_certs = options.ca_pem,
                               .pem_private_key = options.key_pem,
                               .pem_cert_chain = options.cert_pem});
}

enum class Connect { kAtOnce, kWhenUsed };

EndpointStubs StubsOf(const GrpcTransportOptions& options, const Endpoint& endpoint, Connect when) {
  const auto connect = [&] {
    auto channel = grpc::CreateCustomChannel(
        endpoint.address, CredentialsOf(options, endpoint.security), ChannelArgumentsOf(options));
    channel->GetState(when == Connect::kAtOnce);
    return channel;
  };
  const auto unary = connect();
  return EndpointStubs{.address = endpoint.address,
                       .kv = etcdserverpb::KV::NewStub(unary),
                       .lease = etcdserverpb::Lease::NewStub(unary),
                       .auth = etcdserverpb::Auth::NewStub(unary),
                       .maintenance = etcdserverpb::Maintenance::NewStub(unary),
                       .keepalive = etcdserverpb::Lease::NewStub(connect()),
                       .watch = etcdserverpb::Watch::NewStub(connect())};
}

std::size_t FirstOf(const GrpcTransportOptions& options, std::size_t count) {
  if (options.first == FirstEndpoint::kFirst) return 0;
  return std::random_device{}() % count;
}

}  // namespace

thread_local int CallbackScope::depth_ = 0;

gpr_timespec GrpcDeadline(Duration left) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                      gpr_time_from_nanos(left.count(), GPR_TIMESPAN));
}

void AddToken(grpc::ClientContext& context, const Token& token) {
  if (!token.value.empty()) context.AddMetadata("token", token.value);
}

GrpcCore::GrpcCore(GrpcTransportOptions options, const std::vector<Endpoint>& endpoints)
    : options_(std::move(options)),
      tokens_(*this, options_.user, options_.password),
      book_(endpoints.size(), FirstOf(options_, endpoints.size())) {
  // A watch that is opened a connection's time after its snapshot begins behind the store, and etcd
  // looks after such watches only every 100 ms.
  const std::size_t first = book_.Current(BootClock::now());
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const Connect when = i == first ? Connect::kAtOnce : Connect::kWhenUsed;
    stubs_.push_back(StubsOf(options_, endpoints[i], when));
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
  // Under the lock: once it is released, Close may return and this object be gone.
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
  std::vector<bool> avoided(stubs_.size(), false);
  for (std::size_t i = 0; i < stubs_.size(); ++i) avoided[i] = stubs_[i].address == avoid;
  const auto other = NextEndpoint(avoided);
  return other ? *other : CurrentEndpoint();
}

void GrpcCore::ReportAnswered(std::size_t endpoint) {
  const std::lock_guard lock(mutex_);
  book_.Answered(endpoint, BootClock::now());
}

void GrpcCore::ReportUnavailable(std::size_t endpoint) {
  const std::lock_guard lock(mutex_);
  book_.Unavailable(endpoint, BootClock::now());
}

void GrpcCore::ReportMissed(std::size_t endpoint, TimePoint sent) {
  const std::lock_guard lock(mutex_);
  book_.Missed(endpoint, sent, BootClock::now());
}

void GrpcCore::StartDueProbes() {
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
    // An answer of any kind has been reported by the call itself.
    StartUnary<RangeMethod>(
        *this, Share(request), now + kProbeBound,
        [this, endpoint = *due](const Reply<etcdserverpb::RangeResponse>&) {
          const std::lock_guard lock(mutex_);
          if (book_.Quarantined(endpoint)) book_.ProbeFailed(endpoint, BootClock::now());
        },
        due);
  }
}

}  // namespace baton::etcd
