// Placement: an operator's rules about which nodes may lead which shards, as plain values.
//
// A node has labels. A label is a name with one value. The label `node` is the node's id. If the
// node has a zone, its label `zone` is that zone. The other labels come from the node's options, or
// from an operator while the node runs (node_change.h).
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

// Bounds of rules and labels. All nodes keep the rules in memory, and `config` holds them in etcd.
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

/// Whether a label may have this name. A valid name has 1 to kLongestLabel lower-case ASCII
/// letters, digits, '-', '_', '.' and '/', and begins with a letter or digit.
bool IsLabelName(std::string_view name);
/// The rule of IsLabelName in words, for error messages.
inline constexpr const char* kLabelNameRule =
    "1 to 63 lower-case letters, digits, '-', '_', '.' and '/', beginning with a letter or digit";
/// Returns OK if a node may have these labels. There are at most kMaxLabels. All names are valid
/// (IsLabelName), and none is `node` or `zone`. All values are names (IsName in text_rules.h).
/// Otherwise returns kInvalidArgument with the reason.
Status CheckLabels(const Labels& labels);

/// A condition on a node: the node's label `label` has one of the `values`. A node without this
/// label does not meet the condition.
struct LabelTerm {
  std::string label;
  std::vector<std::string> values;
  friend bool operator==(const LabelTerm&, const LabelTerm&) = default;
};
/// A node fits if it meets all conditions. Without conditions, every node fits.
using LabelTerms = std::vector<LabelTerm>;
/// Returns words for messages, such as "zone=a|b, disk=ssd"; "any node" if there are no terms.
std::string TermWords(const LabelTerms& terms);

/// Shards `first` to `last`, both included.
struct ShardRange {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  friend bool operator==(const ShardRange&, const ShardRange&) = default;
};

/// One rule. For each shard, only one rule of the group counts: the first rule whose `shards`
/// include this shard.
struct PlacementRule {
  /// The rule's shards; empty: all shards. A range may reach beyond the group's last shard.
  std::vector<ShardRange> shards;
  LabelTerms require;  ///< only nodes that fit may begin to lead these shards
  /// The order in which the nodes that fit `require` are chosen: first those that fit prefer[0],
  /// then those that fit prefer[1], and so on. Nodes that fit no preference come last.
  std::vector<LabelTerms> prefer;
  /// How many nodes stand by for each of the shards; at most kMaxStandbys.
  std::uint32_t standbys = 0;
  /// The name of a label; empty: no label matters. A shard's replicas (core/standbys.h) are chosen
  /// so that as few of them as possible have the same value of this label. Nodes without the label
  /// count as if they had the same value. The label is never `node`. It is allowed only if
  /// `standbys` is above 0.
  std::string spread = {};
  bool CountsFor(ShardId shard) const;  ///< whether `shards` include it; ignores earlier rules
  friend bool operator==(const PlacementRule&, const PlacementRule&) = default;
};
/// A group's rules, in their order. If no rule counts for a shard, any node may lead the shard.
using Placement = std::vector<PlacementRule>;

/// Returns OK if the rules keep to the bounds above, to the comments of PlacementRule, and to these
/// rules: names are valid (IsLabelName), values are names (IsName), and ranges have first <= last <
/// kMaxShards. Each term has a value, each preference has a term, and the terms of one LabelTerms
/// have different labels. Otherwise returns kInvalidArgument with the first fault ("rule 2:
/// require: 'Zone' is not a valid ...").
Status CheckPlacement(const Placement& placement);

}  // namespace baton
