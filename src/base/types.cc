#include "baton/types.h"

namespace baton {

const char* ToString(Reason reason) {
  switch (reason) {
    case Reason::kStartup: return "startup";
    case Reason::kLeaseExpired: return "lease_expired";
    case Reason::kProcessDied: return "process_died";
    case Reason::kRebalance: return "rebalance";
    case Reason::kDrain: return "drain";
    case Reason::kShutdown: return "shutdown";
    case Reason::kOperator: return "operator";
    case Reason::kCallbackTimeout: return "callback_timeout";
    case Reason::kSuspended: return "suspended";
    case Reason::kResumed: return "resumed";
  }
  return "unknown";
}

const char* ToString(MemberState state) {
  switch (state) {
    case MemberState::kActive: return "active";
    case MemberState::kDraining: return "draining";
    case MemberState::kDead: return "dead";
  }
  return "unknown";
}

const char* ToString(ShardState state) {
  switch (state) {
    case ShardState::kLed: return "led";
    case ShardState::kActivating: return "activating";
    case ShardState::kMoving: return "moving";
    case ShardState::kSuspended: return "suspended";
    case ShardState::kLeaderless: return "leaderless";
  }
  return "unknown";
}

const char* ToString(HashFunction hash) {
  switch (hash) {
    case HashFunction::kMurmur2: return "murmur2";
    case HashFunction::kXxh3Jump: return "xxh3-jump";
    case HashFunction::kModulo: return "modulo";
  }
  return "unknown";
}

}  // namespace baton
