// batonctl's channel to one node.
#pragma once

#include <memory>
#include <string>

#include <grpcpp/channel.h>
#include <grpcpp/security/credentials.h>

#include "app/ctl/ctl.h"

namespace baton::app {

/// Makes a channel, which connects at the first call. `endpoint`: a target of gRPC. Of `tls`, only
/// `name` is used; `credentials` have the rest. If an answer has more than `longest` bytes, its
/// call ends with RESOURCE_EXHAUSTED. Any thread.
std::shared_ptr<grpc::Channel> OpenChannel(
    const std::string& endpoint, const ClientTls& tls,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials, int longest);

}  // namespace baton::app
