#include "base/facts.h"

#include <algorithm>

#include "base/duration_text.h"

namespace baton {
namespace {

std::string LimitsWords(const PolicyFact& limits) {
  std::string words;
  const auto add = [&words](const std::string& word) {
    words += (words.empty() ? "" : ", ") + word;
  };
  if (limits.max_moves > 0) add("max-moves " + std::to_string(limits.max_moves));
  if (limits.rebalance_delay) add("rebalance-delay " + FormatDuration(*limits.rebalance_delay));
  if (limits.cooldown) add("cooldown " + FormatDuration(*limits.cooldown));
  return limits.present && !words.empty() ? words : "default limits";
}

}  // namespace

const char* ToString(FailoverPolicy policy) {
  switch (policy) {
    case FailoverPolicy::kImmediate: return "immediate";
    case FailoverPolicy::kAfter: return "after";
    case FailoverPolicy::kNever: return "never";
  }
  return "unknown";
}

const char* ToString(MovePhase phase) {
  switch (phase) {
    case MovePhase::kPlanned: return "planned";
    case MovePhase::kPrepared: return "prepared";
    case MovePhase::kVoid: return "void";
  }
  return "unknown";
}

const std::string& MemberFact::Label(std::string_view name) const {
  static const std::string kNoLabel;
  if (name == kNodeLabel) return node;
  if (name == kZoneLabel) return zone;
  const auto found = std::find_if(labels.begin(), labels.end(),
                                  [&](const auto& label) { return label.first == name; });
  return found != labels.end() ? found->second : kNoLabel;
}

bool MemberFact::Fits(const LabelTerms& terms) const {
  return std::all_of(terms.begin(), terms.end(), [&](const LabelTerm& term) {
    const std::string& value = Label(term.label);
    return !value.empty() &&
           std::find(term.values.begin(), term.values.end(), value) != term.values.end();
  });
}

PolicyFact LimitsAfter(PolicyFact now, const LimitsChange& change) {
  now.name = {PolicyKind::kLimits};
  if (change.max_moves) now.max_moves = *change.max_moves;
  if (change.rebalance_delay) now.rebalance_delay = change.rebalance_delay->delay;
  if (change.cooldown) now.cooldown = change.cooldown->delay;
  now.present =
      now.max_moves > 0 || now.rebalance_delay || now.cooldown || !now.unknown_fields.empty();
  return now;
}

std::string ChangeWords(const PolicyFact& policy) {
  const bool set = policy.present;
  switch (policy.name.kind) {
    case PolicyKind::kChanged: return "";
    case PolicyKind::kDrain: return (set ? "drain " : "undrain ") + policy.name.node;
    case PolicyKind::kExpectedNodes:
      return "expected-nodes " + std::to_string(set ? policy.expected_nodes : 0);
    case PolicyKind::kLimits: return LimitsWords(policy);
    case PolicyKind::kPause: return set ? "pause" : "resume";
    case PolicyKind::kRebalance: return set ? "rebalance" : "cancel rebalance";
  }
  return "";
}

}  // namespace baton
