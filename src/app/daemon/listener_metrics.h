// The Prometheus metrics of calls and connections that batond refused or cut off.
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

/// Makes the metrics; they can be read on any thread, and may outlive `listener`. `group`: their
/// label.
std::shared_ptr<prometheus::Collectable> MakeListenerMetrics(
    std::string group, const ConnectionListener& listener,
    std::shared_ptr<const runtime::UnreadCounts> unread,
    std::shared_ptr<const access::Access> access);

}  // namespace baton::app
