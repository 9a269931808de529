// `batonctl rebalance simulate`: what the group would do if some of its nodes were lost.
#pragma once

#include <vector>

#include "app/ctl/ctl.h"
#include "base/placement.h"

namespace baton::app {

/// Takes away, in thought, each live node that has one of the labels, and shows who would lead
/// what. Asks the node at options.endpoint for the group's state, and changes nothing.
/// kPrecondition: some shards would have no leader. kNotFound: for at least one of the labels, no
/// live node has it. kUnreachable also if the node's view is not complete yet. Blocking; one
/// thread.
ExitCode SimulateLoss(const CtlOptions& options, const std::vector<LabelTerm>& without);

}  // namespace baton::app
