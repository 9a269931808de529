// `batonctl rebalance simulate`: what the group would do if some of its nodes were lost.
#pragma once

#include <vector>

#include "app/ctl/ctl.h"
#include "base/placement.h"

namespace baton::app {

/// Asks the node at options.endpoint for the group's state, takes away the live nodes that have at
/// least one of these labels, and shows how the other nodes would lead the shards. Changes nothing.
/// kPrecondition: some shards would have no leader. kNotFound: one of the labels has a value that
/// no live node has. kUnreachable: the node can't be asked, or has not read the whole group yet.
/// kFailed: the node's answer has rules that CheckPlacement refuses. REQUIRES (not checked): each
/// label in `without` has one value. Blocking; one thread.
ExitCode SimulateLoss(const CtlOptions& options, const std::vector<LabelTerm>& without);

}  // namespace baton::app
