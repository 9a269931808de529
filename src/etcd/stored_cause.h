// Stores a Cause in a protobuf record, and loads it from there. The records are LeadershipRecord
// and MoveRecord.
//
// Pure functions; any thread.
#pragma once

#include "base/text_rules.h"
#include "baton/cause.h"
#include "baton/v1/records.pb.h"

namespace baton::etcd {

static_assert(::baton::v1::RECORD_CAUSE_HAS_ROOM == static_cast<int>(CauseKind::kHasRoom));
static_assert(::baton::v1::RECORD_CAUSE_OPERATOR == static_cast<int>(CauseKind::kOperator));
static_assert(::baton::v1::RECORD_CAUSE_OPERATOR == kCauseCount - 1);

template <typename Record>
void StoreCause(const Cause& cause, Record* record) {
  record->set_cause(static_cast<::baton::v1::RecordCause>(cause.kind));
  record->set_cause_rule(cause.rule);
  record->set_cause_detail(cause.detail);
}

/// Returns the record's cause. Returns Cause{} if the record has no cause, or a kind that this
/// version does not know. A detail counts as empty if it is too long, or is not visible ASCII.
template <typename Record>
Cause LoadCause(const Record& record) {
  Cause cause;
  if (record.cause() <= 0 || record.cause() >= kCauseCount) return cause;
  cause.kind = static_cast<CauseKind>(record.cause());
  cause.rule = record.cause_rule();
  const std::string& detail = record.cause_detail();
  if (detail.size() <= kLongestCauseDetail && IsVisibleAscii(detail)) cause.detail = detail;
  return cause;
}

}  // namespace baton::etcd
