// The limits of our own gRPC channels, against a hostile server.
//
// Any thread. tests/tidy checks that code that makes a channel calls LimitChannel. The channels of
// a Router's calls are an exception, because their messages are the application's.
#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace baton {

/// Makes the channel refuse compressed messages with UNIMPLEMENTED, without decompressing them.
/// Neither our servers nor etcd send compressed messages. gRPC 1.51 decompresses a message before
/// it checks the message's size, so 200 kB could become 200 MiB. Call it before the channel is
/// made.
void LimitChannel(grpc::ChannelArguments& arguments);

}  // namespace baton
