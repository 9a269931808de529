// Translates changes of a running node's settings between plain values and messages of baton.v1.
//
// Pure functions; any thread. They accept any message. They do not check the change: SettingsAfter
// checks it. ToProto keeps the labels that `out` has already, so pass an empty message.
#pragma once

#include <string>

#include "base/node_change.h"
#include "baton/v1/failover.pb.h"

namespace baton::runtime {

/// Fills in the change. The fields `node`, `actor` and `dry_run` of `out` stay as they are.
void ToProto(const NodeChange& change, v1::SetNodeRequest* out);
void ToProto(const NodeChanged& changed, v1::SetNodeResponse* out);
NodeChange ChangeOf(const v1::SetNodeRequest& message);
NodeChanged FromProto(const v1::SetNodeResponse& message);

/// Returns the change in words, for the audit: one line of at most 256 bytes, and "..." if the line
/// was cut. Empty: the request changes no setting.
std::string SettingText(const v1::SetNodeRequest& request);

}  // namespace baton::runtime
