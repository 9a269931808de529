#include "core/events.h"

namespace baton::core {

const char* ToString(CallbackKind kind) {
  switch (kind) {
    case CallbackKind::kPrepare: return "prepare";
    case CallbackKind::kAcquired: return "acquired";
    case CallbackKind::kReleasing: return "releasing";
    case CallbackKind::kLost: return "lost";
    case CallbackKind::kSuspended: return "suspended";
    case CallbackKind::kResumed: return "resumed";
    case CallbackKind::kStandby: return "standby";
    case CallbackKind::kStandbyEnded: return "standby_ended";
  }
  return "unknown";
}

}  // namespace baton::core
