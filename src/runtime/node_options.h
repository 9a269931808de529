// Checks of NodeOptions, and what the core takes of them.
#pragma once

#include <functional>

#include "baton/options.h"
#include "baton/result.h"
#include "core/options.h"
#include "etcd/grpc_transport.h"

namespace baton::runtime {

/// kInvalidArgument: the message names the option, what is wrong and what was expected.
Status Check(const NodeOptions& options);
core::CoreOptions CoreOptionsOf(const NodeOptions& options);
/// How etcd takes other credentials later goes to the log.
etcd::GrpcTransportOptions TransportOptionsOf(const EtcdOptions& options);

}  // namespace baton::runtime
