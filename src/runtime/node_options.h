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
/// what is expected. Of EtcdOptions, checks only the prefix; GrpcTransport::Create checks the rest.
Status Check(const NodeOptions& options);
/// Returns the core's options. Node::Start adds those about the state directory, the listener, the
/// application and the config's key. The wall clock is not set. REQUIRES: Check(options) is OK.
core::CoreOptions CoreOptionsOf(const NodeOptions& options);
/// Returns a generator of random numbers with a seed of its own. The generator is not thread-safe.
/// If it is copied, both copies return the same numbers from then on.
std::function<std::uint64_t()> RandomNumbers();
/// Returns the transport's options, without on_call. The transport will write to `log` whether etcd
/// accepts new credentials. REQUIRES: `log` outlives the transport.
etcd::GrpcTransportOptions TransportOptionsOf(const EtcdOptions& options,
                                              NodeLog& log = NodeLog::OfProcess());

}  // namespace baton::runtime
