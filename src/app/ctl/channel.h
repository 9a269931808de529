// batonctl's channel to one node.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include "app/ctl/ctl.h"

namespace baton::app {

/// Opens a channel; it connects at the first call. `endpoint`: a target of gRPC. An answer of more
/// than `longest` bytes ends its call with RESOURCE_EXHAUSTED. Any thread.
std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& endpoint, const ClientTls& tls,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials, int longest);

}  // namespace baton::app
