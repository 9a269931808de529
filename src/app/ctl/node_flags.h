// The flags of `batonctl nodes set`. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/node_change.h"
#include "baton/result.h"

namespace baton::app {

/// The flags as they were typed.
struct NodeFlags {
  std::optional<std::uint32_t> weight = {};
  std::vector<std::string> labels = {};   ///< "disk=ssd"
  std::vector<std::string> removed = {};  ///< "disk"
};

/// kInvalidArgument: no flag is given, a label has no '=' or is given twice, or SettingsAfter
/// refuses the change for every node. The message is one line.
Result<NodeChange> ParseNodeFlags(const NodeFlags& flags);

}  // namespace baton::app
