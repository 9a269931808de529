// Checks NodeOptions, and translates them for the core and the transport.
#pragma once

#include <functional>

#include "baton/options.h"
#include "baton/result.h"
#include "core/options.h"
#include "etcd/grpc_transport.h"

namespace baton::runtime {

/// kInvalidArgument: an option is invalid. The message names the option, the fault and what is
/// expected.
Status Check(const NodeOptions& options);
core::CoreOptions CoreOptionsOf(const NodeOptions& options);
/// The transport logs how etcd takes new credentials.
etcd::GrpcTransportOptions TransportOptionsOf(const EtcdOptions& options);

}  // namespace baton::runtime
