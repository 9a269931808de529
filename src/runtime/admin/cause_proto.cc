#include "runtime/admin/cause_proto.h"

namespace baton::runtime {

static_assert(v1::Cause::KIND_HAS_ROOM == static_cast<int>(CauseKind::kHasRoom));
static_assert(v1::Cause::KIND_OPERATOR == static_cast<int>(CauseKind::kOperator));
static_assert(v1::Cause::KIND_OPERATOR == kCauseCount - 1);

v1::Cause ToProto(const Cause& cause) {
  v1::Cause out;
  out.set_kind(static_cast<v1::Cause::Kind>(cause.kind));
  out.set_rule(cause.rule);
  out.set_detail(cause.detail);
  return out;
}

Cause FromProto(const v1::Cause& message) {
  if (message.kind() <= 0 || message.kind() >= kCauseCount) return {};
  return {.kind = static_cast<CauseKind>(message.kind()),
          .rule = message.rule(),
          .detail = message.detail()};
}

}  // namespace baton::runtime
