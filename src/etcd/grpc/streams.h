// Opens the two kinds of streams, and returns the handles for their owners. Only for this folder.
// The contracts are those of Transport::OpenKeepAlive and Transport::OpenWatch. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "etcd/grpc/core.h"

namespace baton::etcd {

std::unique_ptr<KeepAliveStream> OpenKeepAliveStream(GrpcCore& core, std::int64_t lease,
                                                     const std::string& avoid,
                                                     KeepAliveHandler handler);
std::unique_ptr<WatchStream> OpenWatchStream(GrpcCore& core,
                                             const etcdserverpb::WatchCreateRequest& request,
                                             const std::string& avoid, WatchHandler handler);

}  // namespace baton::etcd
