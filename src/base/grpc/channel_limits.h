// LimitChannel: the limits of our own gRPC channels, against a hostile server.
//
// Any thread. tests/tidy checks that code that makes a channel calls LimitChannel. A Router's calls
// have channels without this limit, because their messages are the application's.
#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace baton {

/// Makes the channel refuse compressed messages with UNIMPLEMENTED, without decompressing them.
/// Reason: gRPC 1.51 decompresses a message before it checks the message's size, so 200 kB could
/// become 200 MiB. Neither our servers nor etcd send compressed messages. REQUIRES (not checked):
/// called before the channel is made.
void LimitChannel(grpc::ChannelArguments& arguments);

}  // namespace baton
