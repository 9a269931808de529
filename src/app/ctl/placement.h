// `batonctl placement get` and `placement check`: they show a group's placement rules, and what
// other rules would do. They change nothing. `placement set` is in change.h.
//
// Blocking; one thread.
#pragma once

#include <string>

#include "app/ctl/ctl.h"

namespace baton::app {

/// Prints the group's rules, as JSON if the format is kJson, otherwise as YAML. `placement set`
/// reads both forms. kFailed: the node's answer has rules that CheckPlacement refuses.
ExitCode ShowPlacement(const CtlOptions& options);
/// Reads rules from a file ("-": stdin), and shows what the group would do with them.
/// kPrecondition: the rules let no live node lead some shards. kUsage: the file can't be read, or
/// is not valid. kUnreachable: the node can't be asked, or has not read the whole group yet. Prints
/// warnings, which alone give kDone, in these cases:
///  - Too few live nodes may stand by for a rule's shards.
///  - A rule counts for no shard, or names shards that the group lacks.
///  - No live node has a label that a rule names.
ExitCode CheckPlacementFile(const CtlOptions& options, const std::string& path);

}  // namespace baton::app
