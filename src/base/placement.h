// Placement: an operator's rules about which nodes may lead which shards, as plain values.
//
// A node has labels: names with one value each. The label `node` is the node's id. If the node has
// a zone, the label `zone` is this zone. The other labels come from the node's options, or from an
// operator while the node runs (node_change.h).
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "baton/result.h"
#include "baton/types.h"

namespace baton {

// Bounds of rules. All nodes keep the rules in memory, and `config` holds them in etcd.
inline constexpr std::size_t kMaxPlacementRules = 64;
inline constexpr std::size_t kMaxShardRanges = 256;  ///< in a rule
inline constexpr std::size_t kMaxPreferences = 8;    ///< in a rule
inline constexpr std::size_t kMaxLabelTerms = 16;    ///< in a `require`, or in a preference
inline constexpr std::size_t kMaxLabelValues = 64;   ///< in a term
inline constexpr std::size_t kMaxLabels = 32;        ///< of a node, without `node` and `zone`
inline constexpr std::uint32_t kMaxStandbys = 8;     ///< of a shard
inline constexpr std::size_t kLongestLabel = 63;     ///< bytes of a label's name
/// The most bytes of all names and values in a group's rules.
inline constexpr std::size_t kMaxPlacementText = 64 * 1024;

/// The names of the labels for a node's id and zone.
inline constexpr std::string_view kNodeLabel = "node";
inline constexpr std::string_view kZoneLabel = "zone";

/// The labels' values by the labels' names.
using Labels = std::map<std::string, std::string>;

/// Whether a label may have this name: 1 to kLongestLabel lower-case ASCII letters, digits, '-',
/// '_', '.' or '/', and the first one is a letter or digit.
bool IsLabelName(std::string_view name);
/// The rule of IsLabelName in words, for error messages.
inline constexpr const char* kLabelNameRule =
    "1 to 63 lower-case letters, digits, '-', '_', '.' and '/', beginning with a letter or digit";
/// Returns OK if these may be a node's labels: at most kMaxLabels, with valid names (neither `node`
/// nor `zone`), and with values that are names (IsName). Otherwise returns kInvalidArgument with
/// the reason.
Status CheckLabels(const Labels& labels);

/// Holds for a node if the node's label `label` has one of the `values`. Never holds for a node
/// without this label.
struct LabelTerm {
  std::string label;
  std::vector<std::string> values;
  friend bool operator==(const LabelTerm&, const LabelTerm&) = default;
};
/// A node fits if all terms hold for it. Without terms every node fits.
using LabelTerms = std::vector<LabelTerm>;
/// For messages: "zone=a|b, disk=ssd"; "any node" without terms.
std::string TermWords(const LabelTerms& terms);

/// Shards `first` to `last`, both included.
struct ShardRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  friend bool operator==(const ShardRange&, const ShardRange&) = default;
};

/// One rule. For each shard, only one rule of the group counts: the first rule whose `shards`
/// include the shard.
struct PlacementRule {
  /// The rule's shards; empty: all shards. A range may lie beyond the group's last shard.
  std::vector<ShardRange> shards;
  LabelTerms require;  ///< only a node that fits may begin to lead
  /// In which order the nodes that `require` allows are chosen: first those that fit prefer[0],
  /// then those that fit prefer[1], and so on, and last those that fit no preference.
  std::vector<LabelTerms> prefer;
  /// How many nodes stand by for each of the shards, at most kMaxStandbys.
  std::uint32_t standbys = 0;
  /// A label. The nodes that may lead or stand by for a shard are chosen so that as few of them as
  /// possible share a value of this label. Nodes without the label count as if they shared a value.
  /// Empty: no label matters. A label is allowed only if `standbys` is above 0. `node` is never
  /// allowed.
  std::string spread = {};
  bool CountsFor(ShardId shard) const;  ///< ignores earlier rules
  friend bool operator==(const PlacementRule&, const PlacementRule&) = default;
};
/// A group's rules, in their order. Any node may lead a shard for which no rule counts.
using Placement = std::vector<PlacementRule>;

/// Returns OK if the rules keep to the bounds and to the comments of PlacementRule, and have valid
/// names, values (IsName) and ranges (first <= last < kMaxShards). Each term needs a value, and
/// each preference a term. In one LabelTerms, each label has at most one term. Otherwise returns
/// kInvalidArgument with the first fault ("rule 2: require: 'Zone' is not a valid ...").
Status CheckPlacement(const Placement& placement);

}  // namespace baton
