// batonctl's channel to one node.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include "app/ctl/ctl.h"

namespace baton::app {

/// Makes a channel. It connects at the first call. `endpoint`: host:port, or unix:/path. Without
/// TLS, the host localhost means 127.0.0.1. Uses only `name` and on() of `tls`; `credentials` have
/// the rest. If an answer has more than `longest` bytes, the call ends with RESOURCE_EXHAUSTED. Any
/// thread.
std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& endpoint, const ClientTls& tls,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials, int longest);

}  // namespace baton::app
