// The words of the enums. They are API: metrics labels, JSON and log lines carry them.
#include "base/facts.h"
#include "base/writes.h"
#include "baton/log.h"
#include "baton/result.h"
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

const char* ToString(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace: return "trace";
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarn: return "warn";
    case LogLevel::kError: return "error";
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

const char* ToString(MovePhase phase) {
  switch (phase) {
    case MovePhase::kPlanned: return "planned";
    case MovePhase::kPrepared: return "prepared";
    case MovePhase::kVoid: return "void";
  }
  return "unknown";
}

const char* ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kDone: return "done";
    case Outcome::kRefused: return "refused";
    case Outcome::kUnknown: return "unknown";
  }
  return "unknown";
}

const char* ToString(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kNotFound: return "not found";
    case ErrorCode::kFailedPrecondition: return "failed precondition";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kTimedOut: return "timed out";
    case ErrorCode::kStaleTerm: return "stale term";
    case ErrorCode::kUnimplemented: return "unimplemented";
    case ErrorCode::kInternal: return "internal error";
  }
  return "unknown";
}

}  // namespace baton
