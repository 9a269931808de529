// Checks NodeOptions, and translates them for the core and the transport. Any thread.
#pragma once

#include <functional>

#include "baton/options.h"
#include "baton/result.h"
#include "core/options.h"
#include "etcd/grpc/transport.h"
#include "runtime/node_log.h"

namespace baton::runtime {

/// kInvalidArgument: an option is invalid. The message names the option and the fault, and says
/// what is expected. Of EtcdOptions, Check looks only at the prefix; GrpcTransport::Create checks
/// the rest.
Status Check(const NodeOptions& options);
/// The core's options, without those that only the node's start knows (state directory, listener,
/// application, key of the config) and without the wall clock. REQUIRES: Check(options) is OK.
core::CoreOptions CoreOptionsOf(const NodeOptions& options);
/// Returns a generator of random numbers with a seed of its own. It is not thread-safe. A copy of
/// the generator repeats the numbers that the original gives from then on.
std::function<std::uint64_t()> RandomNumbers();
/// The transport's options, without on_call. The transport will log to `log` whether etcd accepts
/// new credentials. REQUIRES: `log` outlives the transport.
etcd::GrpcTransportOptions TransportOptionsOf(const EtcdOptions& options,
                                              NodeLog& log = NodeLog::OfProcess());

}  // namespace baton::runtime
