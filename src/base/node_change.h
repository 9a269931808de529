// NodeChange: an operator's change of a running node's weight and labels, as plain values.
//
// The new values count until the node's process ends. After a restart, the node's options count
// again.
//
// Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/placement.h"
#include "baton/result.h"

namespace baton {

/// The settings of a running node that an operator can change.
struct NodeSettings {
  std::uint32_t weight = 1;
  Labels labels = {};  ///< without `node` and `zone`
  friend bool operator==(const NodeSettings&, const NodeSettings&) = default;
};

/// A change of a node's settings. Settings that the change does not name stay as they are.
struct NodeChange {
  std::optional<std::uint32_t> weight = {};
  Labels labels = {};  ///< labels to add, or to change to this value
  std::set<std::string> removed =
      {};  ///< names of labels to remove; the node may lack some of them

  bool empty() const { return !weight && labels.empty() && removed.empty(); }
  friend bool operator==(const NodeChange&, const NodeChange&) = default;
};

/// The result of a change.
struct NodeChanged {
  NodeSettings settings;  ///< after the change; for a dry run: as if it were made
  bool differs = false;   ///< false: the node had these settings already
};

/// Returns the settings after the change, which may be equal to `now`. kInvalidArgument in these
/// cases; the message says which:
///  - The change is empty.
///  - The change sets and removes the same label.
///  - The change removes more than kMaxLabels labels.
///  - The change removes `node`, `zone`, or a name that no label can have (IsLabelName).
///  - The change sets a weight above kMaxWeight.
///  - CheckLabels refuses the labels after the change.
Result<NodeSettings> SettingsAfter(const NodeSettings& now, const NodeChange& change);

/// Returns words for messages, such as "weight 2, label disk=ssd, no label rack".
std::string ChangeWords(const NodeChange& change);
/// Returns words such as "weight 2, labels disk=ssd, rack=r7" or "weight 1, no labels".
std::string SettingsWords(const NodeSettings& settings);

}  // namespace baton
