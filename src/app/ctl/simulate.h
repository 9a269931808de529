// `batonctl rebalance simulate`: what the group would do if some of its nodes were lost.
#pragma once

#include <vector>

#include "app/ctl/ctl.h"
#include "base/placement.h"

namespace baton::app {

/// Takes away the live nodes that have at least one of these labels, and shows which of the other
/// nodes would lead which shards. Asks the node at options.endpoint for the group's state, and
/// changes nothing. kPrecondition: some shards would have no leader. kNotFound: for one of the
/// labels, no live node has the value. kUnreachable: the node can't be asked, or its view is not
/// complete yet. kFailed: the node's answer has rules that CheckPlacement refuses. REQUIRES (not
/// checked): each label in `without` has one value. Blocking; one thread.
ExitCode SimulateLoss(const CtlOptions& options, const std::vector<LabelTerm>& without);

}  // namespace baton::app
