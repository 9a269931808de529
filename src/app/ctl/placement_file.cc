#include "app/ctl/placement_file.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "app/common/did_you_mean.h"
#include "app/common/yaml_document.h"
#include "app/ctl/input_file.h"
#include "base/small_file.h"
#include "base/text_rules.h"

namespace baton::app {
namespace {

constexpr const char* kDocumentForm = "expected rules: and a list of rules, or rules: []";
constexpr const char* kRuleForm = "expected shards, require, prefer, node, standbys or spread";
constexpr const char* kShardsForm =
    "expected numbers and ranges, such as 7 or 0-99, 120; leave shards out for all shards";
constexpr const char* kTermsForm =
    "expected labels and values, such as {zone: a, disk: [ssd, nvme]}";
constexpr const char* kPreferForm =
    "expected a list, the best first, such as [{zone: a}, {zone: b}]";
constexpr const char* kValueForm = "expected one value or a list of values, such as a or [a, b]";

// The node itself, or the parts of a list; empty: it is neither a text nor a list, or an empty
// list.
std::vector<YAML::Node> OneOrAll(const YAML::Node& node) {
  std::vector<YAML::Node> all;
  if (node.IsScalar()) all.push_back(node);
  if (!node.IsSequence()) return all;
  for (const YAML::Node& each : node) all.push_back(each);
  return all;
}

// Reads one document. Each function returns the first fault.
class PlacementReader {
 public:
  explicit PlacementReader(const std::string& name) : name_(name) {}

  Result<Placement> Read(const YAML::Node& root) const {
    if (root.IsNull()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}:1: there is nothing; {}", name_, kDocumentForm)};
    }
    if (!root.IsMap() || root.size() == 0) return At(root, kDocumentForm);
    if (Status keys = CheckKeys(root, {"rules"}, kDocumentForm); !keys) return keys.error();
    const YAML::Node list = root.begin()->second;  // what the iterator points to is temporary
    if (!list.IsSequence()) return At(list, fmt::format("rules is no list; {}", kDocumentForm));
    if (list.size() > kMaxPlacementRules) {
      return At(list, fmt::format("there are {} rules; expected at most {}", list.size(),
                                  kMaxPlacementRules));
    }
    Placement placement;
    for (const YAML::Node& node : list) {
      Result<PlacementRule> rule = RuleAt(node);
      if (!rule) return rule.error();
      placement.push_back(*std::move(rule));
      if (Status sound = CheckPlacement(placement); !sound) return At(node, sound.error().message);
    }
    return placement;
  }

 private:
  Error At(const YAML::Node& node, const std::string& what) const {
    return YamlFault(name_, node, what);
  }

  Status CheckKeys(const YAML::Node& map, const std::vector<std::string>& known,
                   const char* form) const {
    std::set<std::string> seen;
    for (const auto& entry : map) {
      if (!entry.first.IsScalar()) return At(map, fmt::format("a key is not a word; {}", form));
      const std::string& key = entry.first.Scalar();
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        return At(entry.first, fmt::format("unknown key {}; {}{}", QuotedWord(key), form,
                                           DidYouMean(key, known)));
      }
      if (!seen.insert(key).second) {
        return At(entry.first, fmt::format("{} is there twice; keep one", QuotedWord(key)));
      }
      // The place of a value that is not there is that of the next one.
      if (entry.second.IsNull()) return At(entry.first, fmt::format("{} has no value", key));
    }
    return Ok();
  }

  Result<PlacementRule> RuleAt(const YAML::Node& node) const {
    if (!node.IsMap()) return At(node, fmt::format("this is no rule; {}", kRuleForm));
    Status keys =
        CheckKeys(node, {"shards", "require", "prefer", "node", "standbys", "spread"}, kRuleForm);
    if (!keys) return keys.error();
    PlacementRule rule;
    for (const auto& entry : node) {
      const std::string& key = entry.first.Scalar();
      Status read = key == "shards"     ? AddShards(entry.second, rule)
                    : key == "require"  ? AddTerms(entry.second, key, rule.require)
                    : key == "prefer"   ? AddPreferences(entry.second, rule)
                    : key == "standbys" ? SetStandbys(entry.second, rule)
                    : key == "spread"   ? SetSpread(entry.second, rule)
                                        : AddTerm(entry.first, entry.second, rule.require);
      if (!read) return read.error();
    }
    return rule;
  }

  Status AddShards(const YAML::Node& node, PlacementRule& rule) const {
    const std::vector<YAML::Node> texts = OneOrAll(node);
    if (texts.empty()) return At(node, fmt::format("shards names no shards; {}", kShardsForm));
    for (const YAML::Node& text : texts) {
      if (!text.IsScalar()) return At(text, fmt::format("this is no range; {}", kShardsForm));
      if (Status added = AddRanges(text, rule); !added) return added;
    }
    return Ok();
  }

  // "0-99, 120"
  Status AddRanges(const YAML::Node& node, PlacementRule& rule) const {
    std::string_view rest = node.Scalar();
    while (true) {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      std::string_view word = rest.substr(0, comma);
      while (word.starts_with(' ')) word.remove_prefix(1);
      while (word.ends_with(' ')) word.remove_suffix(1);
      ShardRange range;
      if (!ReadRange(word, range)) {
        return At(node, fmt::format("{} is no shard and no range of shards; {}",
                                    QuotedWord(std::string(word)), kShardsForm));
      }
      rule.shards.push_back(range);
      if (rule.shards.size() > kMaxShardRanges) {
        return At(node, fmt::format("there are more than {} ranges of shards; expected at most so "
                                    "many in a rule",
                                    kMaxShardRanges));
      }
      if (comma == rest.size()) return Ok();
      rest.remove_prefix(comma + 1);
    }
  }

  // Whether a word has the form of one; CheckPlacement says whether the numbers are in order.
  static bool ReadRange(std::string_view word, ShardRange& range) {
    const std::size_t dash = word.find('-');
    const bool one = dash == std::string_view::npos;
    if (!ReadNumber(word.substr(0, dash), range.first)) return false;
    range.last = range.first;
    return one || ReadNumber(word.substr(dash + 1), range.last);
  }
  static bool ReadNumber(std::string_view word, std::uint32_t& number) {
    const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), number);
    return failed == std::errc() && end == word.data() + word.size();
  }

  Status SetStandbys(const YAML::Node& node, PlacementRule& rule) const {
    const std::string word = node.IsScalar() ? node.Scalar() : "";
    if (ReadNumber(word, rule.standbys) && rule.standbys <= kMaxStandbys) return Ok();
    return At(node, fmt::format("standbys is {}; expected a number from 0 to {}",
                                node.IsScalar() ? QuotedWord(word) : "no number", kMaxStandbys));
  }

  Status SetSpread(const YAML::Node& node, PlacementRule& rule) const {
    const std::string word = node.IsScalar() ? node.Scalar() : "";
    if (!IsLabelName(word)) {
      return At(node, fmt::format("spread is {}; expected a label's name, such as zone",
                                  node.IsScalar() ? QuotedWord(word) : "no label's name"));
    }
    rule.spread = word;
    return Ok();
  }

  Status AddPreferences(const YAML::Node& node, PlacementRule& rule) const {
    if (!node.IsSequence() || node.size() == 0) {
      const char* const what = node.IsSequence() ? "has no preferences" : "is no list";
      return At(node, fmt::format("prefer {}; {}", what, kPreferForm));
    }
    if (node.size() > kMaxPreferences) {
      return At(node, fmt::format("there are {} preferences; expected at most {}", node.size(),
                                  kMaxPreferences));
    }
    for (const YAML::Node& terms : node) {
      if (Status read = AddTerms(terms, "a preference", rule.prefer.emplace_back()); !read) {
        return read;
      }
    }
    return Ok();
  }

  Status AddTerms(const YAML::Node& node, const std::string& what, LabelTerms& terms) const {
    if (!node.IsMap() || node.size() == 0) {
      return At(node, fmt::format("{} has no labels; {}", what, kTermsForm));
    }
    if (node.size() > kMaxLabelTerms) {
      return At(node, fmt::format("{} has {} labels; expected at most {}", what, node.size(),
                                  kMaxLabelTerms));
    }
    for (const auto& entry : node) {
      if (Status read = AddTerm(entry.first, entry.second, terms); !read) return read;
    }
    return Ok();
  }

  Status AddTerm(const YAML::Node& label, const YAML::Node& value, LabelTerms& terms) const {
    if (!label.IsScalar() || !IsLabelName(label.Scalar())) {
      return At(label, fmt::format("{} is no label's name; expected {}",
                                   label.IsScalar() ? QuotedWord(label.Scalar()) : "this",
                                   kLabelNameRule));
    }
    LabelTerm term{.label = label.Scalar(), .values = {}};
    const auto has = [&](const LabelTerm& other) { return other.label == term.label; };
    if (std::any_of(terms.begin(), terms.end(), has)) {
      return At(label, fmt::format("label {} is there twice; give it once, with all its values",
                                   term.label));
    }
    const std::vector<YAML::Node> values = OneOrAll(value);
    const auto refuse = [&](const YAML::Node& node, const std::string& what) {
      return At(node, fmt::format("label {}: {}", term.label, what));
    };
    if (values.empty())
      return refuse(value.IsNull() ? label : value, fmt::format("it has no value; {}", kValueForm));
    if (values.size() > kMaxLabelValues) {
      return refuse(value, fmt::format("it has {} values; expected at most {}", values.size(),
                                       kMaxLabelValues));
    }
    for (const YAML::Node& each : values) {
      if (!each.IsScalar()) return refuse(each, fmt::format("this is no value; {}", kValueForm));
      if (!IsName(each.Scalar())) {
        return refuse(
            each, fmt::format("{} is no value; expected {}", QuotedWord(each.Scalar()), kNameRule));
      }
      if (std::find(term.values.begin(), term.values.end(), each.Scalar()) != term.values.end()) {
        return refuse(each, fmt::format("{} is there twice; keep one", QuotedWord(each.Scalar())));
      }
      term.values.push_back(each.Scalar());
    }
    terms.push_back(std::move(term));
    return Ok();
  }

  const std::string& name_;
};

std::string YamlWord(const std::string& word) {
  return IsPlainYaml(word) ? word : '"' + word + '"';
}

std::string YamlTerms(const LabelTerms& terms) {
  std::vector<std::string> parts;
  for (const LabelTerm& term : terms) {
    std::vector<std::string> values;
    for (const std::string& value : term.values) values.push_back(YamlWord(value));
    const std::string text = fmt::format("{}", fmt::join(values, ", "));
    parts.push_back(
        fmt::format("{}: {}", YamlWord(term.label), values.size() == 1 ? text : "[" + text + "]"));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string YamlRule(const PlacementRule& rule) {
  std::vector<std::string> lines;
  if (!rule.shards.empty()) lines.push_back("shards: " + ShardWords(rule));
  const LabelTerms& require = rule.require;
  const bool pin = require.size() == 1 && require.front().label == kNodeLabel &&
                   require.front().values.size() == 1;
  if (pin) {
    lines.push_back("node: " + YamlWord(require.front().values.front()));
  } else if (!require.empty()) {
    lines.push_back("require: " + YamlTerms(require));
  }
  std::vector<std::string> preferences;
  for (const LabelTerms& terms : rule.prefer) preferences.push_back(YamlTerms(terms));
  if (!preferences.empty()) {
    lines.push_back(fmt::format("prefer: [{}]", fmt::join(preferences, ", ")));
  }
  if (rule.standbys > 0) lines.push_back(fmt::format("standbys: {}", rule.standbys));
  if (!rule.spread.empty()) lines.push_back("spread: " + YamlWord(rule.spread));
  if (lines.empty()) return "  - {}\n";
  return fmt::format("  - {}\n", fmt::join(lines, "\n    "));
}

// Names and values have no characters that JSON escapes.
std::string JsonTerms(const LabelTerms& terms) {
  std::vector<std::string> parts;
  for (const LabelTerm& term : terms) {
    parts.push_back(fmt::format(R"("{}":["{}"])", term.label, fmt::join(term.values, R"(",")")));
  }
  return fmt::format("{{{}}}", fmt::join(parts, ","));
}

std::string JsonRule(const PlacementRule& rule) {
  std::vector<std::string> parts;
  if (!rule.shards.empty()) {
    parts.push_back(
        fmt::format(R"("shards":["{}"])", fmt::join(RangeTexts(rule.shards), R"(",")")));
  }
  if (!rule.require.empty()) parts.push_back(R"("require":)" + JsonTerms(rule.require));
  std::vector<std::string> preferences;
  for (const LabelTerms& terms : rule.prefer) preferences.push_back(JsonTerms(terms));
  if (!preferences.empty()) {
    parts.push_back(fmt::format(R"("prefer":[{}])", fmt::join(preferences, ",")));
  }
  if (rule.standbys > 0) parts.push_back(fmt::format(R"("standbys":{})", rule.standbys));
  if (!rule.spread.empty()) parts.push_back(fmt::format(R"("spread":"{}")", rule.spread));
  return fmt::format("{{{}}}", fmt::join(parts, ","));
}

}  // namespace

Result<Placement> ParsePlacement(const std::string& name, const std::string& text) {
  const Result<YAML::Node> document = ParseYamlDocument(name, text);
  if (!document) return document.error();
  return PlacementReader(name).Read(*document);
}

Result<Placement> ReadPlacementFile(const std::string& path) {
  const Result<std::string> text = ReadInputFile(path, kMaxSmallFile);
  if (!text) return text.error();
  return ParsePlacement(path == "-" ? "stdin" : path, text.value());
}

std::string PlacementYaml(const Placement& placement) {
  if (placement.empty()) return "rules: []\n";
  std::string text = "rules:\n";
  for (const PlacementRule& rule : placement) text += YamlRule(rule);
  return text;
}

std::string PlacementJson(const Placement& placement) {
  std::vector<std::string> rules;
  for (const PlacementRule& rule : placement) rules.push_back(JsonRule(rule));
  return fmt::format(R"({{"rules":[{}]}})", fmt::join(rules, ","));
}

std::vector<std::string> RangeTexts(const std::vector<ShardRange>& ranges) {
  std::vector<std::string> texts;
  for (const ShardRange& range : ranges) {
    texts.push_back(range.first == range.last ? std::to_string(range.first)
                                              : fmt::format("{}-{}", range.first, range.last));
  }
  return texts;
}

void AddToRanges(ShardId shard, std::vector<ShardRange>& ranges) {
  if (ranges.empty() || ranges.back().last + 1 != shard.value) {
    ranges.push_back({shard.value, shard.value});
  } else {
    ranges.back().last = shard.value;
  }
}

std::string ShardWords(const PlacementRule& rule) {
  return rule.shards.empty() ? "all" : fmt::format("{}", fmt::join(RangeTexts(rule.shards), ", "));
}

}  // namespace baton::app
