#include "base/facts.h"

namespace baton {

const char* ToString(MovePhase phase) {
  switch (phase) {
    case MovePhase::kPlanned: return "planned";
    case MovePhase::kPrepared: return "prepared";
    case MovePhase::kVoid: return "void";
  }
  return "unknown";
}

}  // namespace baton
