// Makes the Prometheus metrics of batond's gRPC server: its limits, how much is open, and how much
// was refused or ended early.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <prometheus/collectable.h>

#include "access/access.h"
#include "access/stream_places.h"
#include "app/daemon/connection_listener.h"
#include "app/daemon/open_calls.h"
#include "base/receive_budget.h"
#include "runtime/admin/unread_answers.h"

namespace baton::app {

/// The sources of the metrics. The objects may outlive the server.
struct ListenerCounts {
  std::size_t most_descriptors = 0;  ///< see ConnectionListener::Bounds
  int streams = 0;                   ///< see ServerLimits
  std::size_t memory = 0;            ///< see ServerLimits
  std::shared_ptr<const ConnectionListener::Refused> refused;
  std::shared_ptr<const ReceiveBudget> budget;
  std::shared_ptr<const OpenCalls> open;
  std::shared_ptr<const runtime::UnreadCounts> unread;
  std::shared_ptr<const access::StreamPlaces> events;
  std::shared_ptr<const access::StreamPlaces> routes;
  std::shared_ptr<const access::Access> access;
};

/// Makes the metrics; any thread may read them. `group`: the value of their label. REQUIRES (not
/// checked): no pointer is null.
std::shared_ptr<prometheus::Collectable> MakeListenerMetrics(std::string group,
                                                             ListenerCounts counts);

}  // namespace baton::app
