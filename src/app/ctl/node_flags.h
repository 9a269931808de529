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

/// Returns the change that the flags ask for. A name may be in `removed` twice. The node itself
/// checks that it has at most kMaxLabels (32) labels after the change. kInvalidArgument, with a
/// message of one line:
///  - no flag is given;
///  - a label in `labels` has no '=';
///  - a name is twice in `labels`, or is in both `labels` and `removed`;
///  - the weight is above kMaxWeight (1,000,000);
///  - CheckLabels forbids the labels in `labels`, for example because one is `node` or `zone`;
///  - `removed` has more than kMaxLabels names, or a name that CheckLabels forbids.
Result<NodeChange> ParseNodeFlags(const NodeFlags& flags);

}  // namespace baton::app
