#include "app/ctl/channel.h"

#include <grpcpp/create_channel.h>

#include "base/endpoint.h"
#include "base/grpc/channel_limits.h"
#include "http/address.h"

namespace baton::app {
namespace {

// Connects to the address that was judged when a token was allowed: "127.1" would ask the DNS.
std::string TargetOf(const std::string& endpoint, const ClientTls& tls) {
  const auto address = http::ParseAddress(endpoint);
  if (IsUnixAddress(endpoint) || !address) return endpoint;
  const std::string numeric = http::FormatAddress(*address);
  return tls.on() ? numeric : LocalhostAsAddress(numeric);
}

}  // namespace

std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& endpoint, const ClientTls& tls,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials, int longest) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(longest);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  // Also how long an attempt to connect may take. A node whose processor is busy may need seconds
  // for a handshake.
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  if (!tls.name.empty()) arguments.SetSslTargetNameOverride(tls.name);
  LimitChannel(arguments);
  return grpc::CreateCustomChannel(TargetOf(endpoint, tls), credentials, arguments);
}

}  // namespace baton::app
