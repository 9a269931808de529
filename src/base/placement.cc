#include "base/placement.h"

#include <algorithm>
#include <utility>

#include "base/escape.h"
#include "base/limits.h"
#include "base/text_rules.h"

namespace baton {
namespace {

Error Wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

bool IsLabelStart(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool IsLabelChar(char c) { return IsLabelStart(c) || c == '-' || c == '_' || c == '.' || c == '/'; }

Status CheckName(const std::string& name) {
  if (IsLabelName(name)) return Ok();
  return Wrong("'" + OneLine(name, kLongestName) + "' is not a valid label name; give " +
               kLabelNameRule);
}

Status CheckValue(const std::string& label, const std::string& value) {
  if (IsName(value)) return Ok();
  return Wrong("the value of label '" + label + "' is not valid; give " + kNameRule);
}

Status AtMost(std::size_t count, std::size_t most, const char* what) {
  if (count <= most) return Ok();
  return Wrong(std::to_string(count) + " " + what + "; give at most " + std::to_string(most));
}

Status CheckTerm(const LabelTerm& term, std::size_t& text) {
  if (Status name = CheckName(term.label); !name) return name;
  if (term.values.empty()) return Wrong("label '" + term.label + "' has no value");
  if (Status few = AtMost(term.values.size(), kMaxLabelValues, "values of a label"); !few) {
    return few;
  }
  text += term.label.size();
  for (const std::string& value : term.values) {
    if (Status valid = CheckValue(term.label, value); !valid) return valid;
    text += value.size();
  }
  return Ok();
}

Status CheckTerms(const LabelTerms& terms, std::size_t& text) {
  if (Status few = AtMost(terms.size(), kMaxLabelTerms, "labels"); !few) return few;
  for (const LabelTerm& term : terms) {
    if (Status valid = CheckTerm(term, text); !valid) return valid;
    const auto same = [&](const LabelTerm& other) { return other.label == term.label; };
    if (std::count_if(terms.begin(), terms.end(), same) > 1) {
      return Wrong("label '" + term.label + "' stands there twice; give it once, with all values");
    }
  }
  return Ok();
}

Status CheckRanges(const std::vector<ShardRange>& ranges) {
  if (Status few = AtMost(ranges.size(), kMaxShardRanges, "ranges of shards"); !few) return few;
  for (const ShardRange& range : ranges) {
    if (range.first <= range.last && range.last < kMaxShards) continue;
    return Wrong("shards " + std::to_string(range.first) + "-" + std::to_string(range.last) +
                 " are no range; give the lower number first, and none above " +
                 std::to_string(kMaxShards - 1));
  }
  return Ok();
}

Status In(const std::string& where, const Status& status) {
  return status ? status : Status(Wrong(where + ": " + status.error().message));
}

Status CheckStandbys(const PlacementRule& rule, std::size_t& text) {
  if (Status few = AtMost(rule.standbys, kMaxStandbys, "standbys"); !few) return few;
  if (rule.spread.empty()) return Ok();
  if (Status name = In("spread", CheckName(rule.spread)); !name) return name;
  if (rule.spread == kNodeLabel) {
    return Wrong("spread: each node has a value of label 'node' of its own; give another label");
  }
  if (rule.standbys == 0) return Wrong("spread needs standbys; give standbys, too");
  text += rule.spread.size();
  return Ok();
}

Status CheckRule(const PlacementRule& rule, std::size_t& text) {
  if (Status ranges = In("shards", CheckRanges(rule.shards)); !ranges) return ranges;
  if (Status require = In("require", CheckTerms(rule.require, text)); !require) return require;
  if (Status few = AtMost(rule.prefer.size(), kMaxPreferences, "preferences"); !few) return few;
  for (std::size_t i = 0; i < rule.prefer.size(); ++i) {
    const std::string where = "preference " + std::to_string(i + 1);
    if (rule.prefer[i].empty()) return Wrong(where + " has no label");
    if (Status valid = In(where, CheckTerms(rule.prefer[i], text)); !valid) return valid;
  }
  return CheckStandbys(rule, text);
}

}  // namespace

bool IsLabelName(std::string_view name) {
  return !name.empty() && name.size() <= kLongestLabel && IsLabelStart(name.front()) &&
         std::all_of(name.begin(), name.end(), IsLabelChar);
}

Status CheckLabels(const Labels& labels) {
  if (Status few = AtMost(labels.size(), kMaxLabels, "labels"); !few) return few;
  for (const auto& [name, value] : labels) {
    if (Status valid = CheckName(name); !valid) return valid;
    if (name == kNodeLabel || name == kZoneLabel) {
      return Wrong("label '" + name + "' is the node's " + (name == kZoneLabel ? "zone" : "id") +
                   " already; leave it out");
    }
    if (Status valid = CheckValue(name, value); !valid) return valid;
  }
  return Ok();
}

std::string TermWords(const LabelTerms& terms) {
  std::string words;
  for (const LabelTerm& term : terms) {
    if (!words.empty()) words += ", ";
    words += term.label + "=";
    for (std::size_t i = 0; i < term.values.size(); ++i) {
      words += (i == 0 ? "" : "|") + term.values[i];
    }
  }
  return words.empty() ? "any node" : words;
}

bool PlacementRule::CountsFor(ShardId shard) const {
  return shards.empty() || std::any_of(shards.begin(), shards.end(), [&](const ShardRange& range) {
           return range.first <= shard.value && shard.value <= range.last;
         });
}

Status CheckPlacement(const Placement& placement) {
  if (Status few = AtMost(placement.size(), kMaxPlacementRules, "rules"); !few) return few;
  std::size_t text = 0;
  for (std::size_t i = 0; i < placement.size(); ++i) {
    const std::string where = "rule " + std::to_string(i + 1);
    if (Status valid = In(where, CheckRule(placement[i], text)); !valid) return valid;
  }
  if (text <= kMaxPlacementText) return Ok();
  return Wrong("the rules have " + std::to_string(text) + " bytes of labels and values; at most " +
               std::to_string(kMaxPlacementText) + " are allowed");
}

}  // namespace baton
