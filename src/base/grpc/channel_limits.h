// The limits that every gRPC channel of ours has, against a server that means harm.
//
// Any thread. tests/tidy checks that a program that makes a channel calls this.
#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace baton {

/// Refuses compressed messages with UNIMPLEMENTED, before they are opened. No server of ours, and
/// no etcd, sends any. gRPC 1.51 decompresses a message before it looks at its size, so 200 kB
/// could become 200 MiB.
void LimitChannel(grpc::ChannelArguments& arguments);

}  // namespace baton
