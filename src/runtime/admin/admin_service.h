// baton.v1.AdminService on top of Control: translates, checks the caller, never blocks.
//
// Calls arrive on gRPC's threads and are answered from Control's handlers. Pictures of the group
// are turned into messages on a thread of the service's own, because a handler may run on the
// node's loop and 100,000 shards take tens of milliseconds; at most kMaxQueuedPictures wait for it,
// more are refused with RESOURCE_EXHAUSTED.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include <grpcpp/grpcpp.h>

#include "baton/grpc.h"
#include "baton/result.h"
#include "runtime/control.h"
#include "runtime/doctor/finding.h"

namespace baton::runtime {

inline constexpr std::size_t kMaxQueuedPictures = 64;

/// Asks for a diagnosis; the handler is called once, on any thread.
using Diagnose = std::function<void(std::function<void(Result<Diagnosis>)>)>;

/// Adds the service to `builder`; for programs that have a Node, see baton/grpc.h. `control`, the
/// answer and what `diagnose` uses must outlive the server. Empty: there is no diagnosis.
std::unique_ptr<AdminService> RegisterAdminService(grpc::ServerBuilder& builder, Control& control,
                                                   AdminOptions options, Diagnose diagnose = {});

/// The gRPC status of an error; the message is kept.
grpc::Status StatusOf(const Error& error);

/// `peer` (as grpc::ServerContext::peer names it) is on this host: IPv4 or IPv6 loopback, or a unix
/// socket.
bool IsLocalPeer(std::string_view peer);

}  // namespace baton::runtime
