// Translates changes of a running node's settings between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message: SettingsAfter says whether the change is
// sound.
#pragma once

#include <string>

#include "base/node_change.h"
#include "baton/v1/failover.pb.h"

namespace baton::runtime {

/// Fills in the change alone, not the node, the actor or the dry run.
void ToProto(const NodeChange& change, v1::SetNodeRequest* out);
void ToProto(const NodeChanged& changed, v1::SetNodeResponse* out);
NodeChange ChangeOf(const v1::SetNodeRequest& message);
NodeChanged FromProto(const v1::SetNodeResponse& message);

/// The change in words, for the audit: one line of at most 256 bytes, then "..." if it was cut.
/// Empty if the change names nothing.
std::string SettingText(const v1::SetNodeRequest& request);

}  // namespace baton::runtime
