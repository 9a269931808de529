// `batonctl placement get` and `check`: a group's placement rules, and what other rules would do.
// Both change nothing. `placement set` is in change.h.
//
// Blocking; one thread.
#pragma once

#include <string>

#include "app/ctl/ctl.h"

namespace baton::app {

/// Prints the group's rules: as JSON if the format is kJson, otherwise as YAML. `placement set`
/// takes both forms. kFailed: the node's answer has rules that CheckPlacement refuses.
ExitCode ShowPlacement(const CtlOptions& options);
/// Reads rules from a file ("-": stdin), and shows what the group would do with them.
/// kPrecondition: for some shards, the rules let no live node lead. Prints a warning if too few
/// live nodes may stand by for a rule's shards, if a rule counts for no shard or names shards that
/// the group lacks, or if no live node has a label that a rule names. Warnings alone give kDone.
/// kUsage: the file can't be read, or is not valid. kUnreachable: the node can't be asked, or its
/// view is not complete yet.
ExitCode CheckPlacementFile(const CtlOptions& options, const std::string& path);

}  // namespace baton::app
