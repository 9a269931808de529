#include "core/node_change_request.h"

#include "base/endpoint.h"

namespace baton::core {
namespace {

Error NotThisNode(const Context& context, const NodeId& named) {
  if (!context.view.complete()) return kNoView;
  const MemberFact* member = context.view.member(named);
  if (member == nullptr || !member->present) {
    return {ErrorCode::kNotFound, "no node '" + named + "' in this group"};
  }
  return {ErrorCode::kFailedPrecondition,
          "only node '" + named + "' itself can change its settings: ask that node" +
              (!IsPeerEndpoint(member->address) ? "" : " (--endpoint " + member->address + ")")};
}

}  // namespace

Result<NodeChanged> NodeChangeFor(const Context& context, const NodeChangeRequested& asked) {
  if (asked.node != context.self()) return NotThisNode(context, asked.node);
  if (context.draining || context.ended) {
    return Error{ErrorCode::kUnavailable, "this node is stopping"};
  }
  const MemberFact& self = context.options.self;
  const NodeSettings before{.weight = self.weight, .labels = self.labels};
  const Result<NodeSettings> after = SettingsAfter(before, asked.change);
  if (!after) return after.error();
  return NodeChanged{.settings = *after, .differs = *after != before};
}

}  // namespace baton::core
