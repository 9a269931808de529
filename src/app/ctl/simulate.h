// `batonctl rebalance simulate`: what the group would do if some of its nodes were lost.
#pragma once

#include <vector>

#include "app/ctl/ctl.h"
#include "base/placement.h"

namespace baton::app {

/// Shows who would lead what without the live nodes that have at least one of these labels. Asks
/// the node at options.endpoint for the group's state, and changes nothing. kPrecondition: some
/// shards would have no leader. kNotFound: there is a label that no live node has. kUnreachable
/// also if the node's view is not complete yet. kFailed: the node's answer has rules that
/// CheckPlacement refuses. Blocking; one thread.
ExitCode SimulateLoss(const CtlOptions& options, const std::vector<LabelTerm>& without);

}  // namespace baton::app
