#include "base/facts.h"

namespace baton {

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

std::string ChangeWords(const PolicyFact& policy) {
  const bool set = policy.present;
  switch (policy.name.kind) {
    case PolicyKind::kChanged: return "";
    case PolicyKind::kDrain: return (set ? "drain " : "undrain ") + policy.name.node;
    case PolicyKind::kExpectedNodes:
      return "expected-nodes " + std::to_string(set ? policy.expected_nodes : 0);
    case PolicyKind::kLimits: return "max-moves " + std::to_string(set ? policy.max_moves : 0);
    case PolicyKind::kPause: return set ? "pause" : "resume";
    case PolicyKind::kRebalance: return set ? "rebalance" : "cancel rebalance";
  }
  return "";
}

}  // namespace baton
