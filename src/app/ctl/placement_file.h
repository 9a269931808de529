// The file of `batonctl placement`: a group's placement rules as YAML.
//
//   rules:
//     - shards: 0-99, 120       # a text or a list; left out: all shards
//       require: {zone: a, disk: [ssd, nvme]}
//       prefer: [{zone: a}, {zone: b}]
//       standbys: 2
//       spread: zone            # leader and standbys in different zones, if possible
//     - shards: 7
//       node: n3                # a pin: short for require: {node: n3}
//
// `rules` is required; `rules: []` means no rules. All parts of a rule are optional. If a rule has
// both `node` and `require`, a node must fit both, and `require` must not have the label `node`.
//
// Pure functions, except ReadPlacementFile; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/placement.h"
#include "baton/result.h"

namespace baton::app {

/// Reads rules from YAML text, which may be JSON, in the order of the text. CheckPlacement accepts
/// the result, but the rules may name shards and nodes that the group does not have.
/// kInvalidArgument: the text has another form, or CheckPlacement refuses the rules. The message is
/// one line. It has `name`, the line in the text, what is wrong, and in most cases what was
/// expected.
Result<Placement> ParsePlacement(const std::string& name, const std::string& text);

/// Reads the file ("-": stdin), and parses it. Waits for the file system, and for the end of stdin
/// or of a pipe. kInvalidArgument: as ParsePlacement, and as ReadInputFile (input_file.h) with 1
/// MiB as `most`.
Result<Placement> ReadPlacementFile(const std::string& path);

/// Returns the rules as YAML with a line feed at the end. ParsePlacement reads the same rules from
/// this text. REQUIRES (not checked, also for PlacementJson): CheckPlacement accepts the rules.
std::string PlacementYaml(const Placement& placement);
/// The same as one line of JSON without a line feed: {"rules":[{"shards":["0-99"],
/// "require":{"zone":["a"]},"prefer":[{"zone":["a"]}],"standbys":2,"spread":"zone"}]}. An empty
/// part of a rule is left out.
std::string PlacementJson(const Placement& placement);

/// Returns each range as a text, as in a rule of the file: "0-99", "120".
std::vector<std::string> RangeTexts(const std::vector<ShardRange>& ranges);
/// Adds a shard to sorted ranges. REQUIRES (not checked): the shard's number is greater than the
/// numbers of all shards in `ranges`.
void AddToRanges(ShardId shard, std::vector<ShardRange>& ranges);

/// A rule's shards for messages: "0-99, 120"; "all" for all shards.
std::string ShardWords(const PlacementRule& rule);

}  // namespace baton::app
