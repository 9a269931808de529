// The Prometheus metrics of callers that the gRPC server turned away or cut off.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "access/access.h"
#include "app/daemon/connection_listener.h"
#include "runtime/admin/unread_answers.h"

namespace baton::app {

/// Makes the metrics. They may outlive `listener`.
std::shared_ptr<prometheus::Collectable> MakeListenerMetrics(
    std::string group, const ConnectionListener& listener,
    std::shared_ptr<const runtime::UnreadCounts> unread,
    std::shared_ptr<const access::Access> access);

}  // namespace baton::app
