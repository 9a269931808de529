#include "baton/cause.h"

namespace baton {
namespace {

std::string Or(const std::string& detail, const char* otherwise) {
  return detail.empty() ? otherwise : detail;
}

std::string RuleWords(const Cause& cause, const char* does) {
  const std::string rule = cause.rule == 0 ? "a rule" : "rule " + std::to_string(cause.rule);
  return rule + " " + does + " ";
}

std::string StandbyWords(std::string place) {
  if (place.empty()) return "ready standby";
  const std::size_t equals = place.find('=');
  if (equals != std::string::npos) place[equals] = ' ';
  return "ready standby in " + place;
}

}  // namespace

const char* ToString(CauseKind kind) {
  switch (kind) {
    case CauseKind::kUnknown: return "unknown";
    case CauseKind::kHasRoom: return "has_room";
    case CauseKind::kLedBefore: return "led_before";
    case CauseKind::kReadyStandby: return "ready_standby";
    case CauseKind::kPassedOver: return "passed_over";
    case CauseKind::kTakenBack: return "taken_back";
    case CauseKind::kRuleRequires: return "rule_requires";
    case CauseKind::kRulePrefers: return "rule_prefers";
    case CauseKind::kDamagedRecord: return "damaged_record";
    case CauseKind::kBalance: return "balance";
    case CauseKind::kDrain: return "drain";
    case CauseKind::kRuleForbids: return "rule_forbids";
    case CauseKind::kActivationFailed: return "activation_failed";
    case CauseKind::kOperator: return "operator";
  }
  return "unknown";
}

std::string CauseWords(const Cause& cause) {
  switch (cause.kind) {
    case CauseKind::kUnknown: return "";
    case CauseKind::kHasRoom: return "it led fewer shards than its share";
    case CauseKind::kLedBefore: return "it led the shard before";
    case CauseKind::kReadyStandby: return StandbyWords(cause.detail);
    case CauseKind::kPassedOver: return Or(cause.detail, "another node") + " did not claim it";
    case CauseKind::kTakenBack: return "the failover settings keep it for this node";
    case CauseKind::kRuleRequires: return RuleWords(cause, "requires") + Or(cause.detail, "it");
    case CauseKind::kRulePrefers: return RuleWords(cause, "prefers") + Or(cause.detail, "it");
    case CauseKind::kDamagedRecord: return "the damaged record was replaced";
    case CauseKind::kBalance: return "to spread shards evenly";
    case CauseKind::kDrain: return Or(cause.detail, "its leader") + " gives its shards away";
    case CauseKind::kRuleForbids:
      return RuleWords(cause, "forbids") + Or(cause.detail, "its leader");
    case CauseKind::kActivationFailed:
      return "activation failed on " + Or(cause.detail, "its leader");
    case CauseKind::kOperator: return "an operator moved it";
  }
  return "";
}

}  // namespace baton
