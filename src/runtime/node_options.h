// Checks NodeOptions, and translates them for the core and the transport.
#pragma once

#include <functional>

#include "baton/options.h"
#include "baton/result.h"
#include "core/options.h"
#include "etcd/grpc/transport.h"
#include "runtime/node_log.h"

namespace baton::runtime {

/// kInvalidArgument: an option is invalid. The message names the option, the fault and what is
/// expected.
Status Check(const NodeOptions& options);
core::CoreOptions CoreOptionsOf(const NodeOptions& options);
/// A generator of random numbers with a seed of its own. Not thread-safe.
std::function<std::uint64_t()> RandomNumbers();
/// The transport logs how etcd takes new credentials, to `log`, which must outlive it.
etcd::GrpcTransportOptions TransportOptionsOf(const EtcdOptions& options,
                                              NodeLog& log = NodeLog::OfProcess());

}  // namespace baton::runtime
