#include "runtime/admin/node_change_proto.h"

#include <cstddef>

#include "base/escape.h"

namespace baton::runtime {
namespace {

constexpr std::size_t kLongestChangeText = 256;  // bytes

}  // namespace

void ToProto(const NodeChange& change, v1::SetNodeRequest* out) {
  if (change.weight) out->set_weight(*change.weight);
  for (const auto& [name, value] : change.labels) (*out->mutable_labels())[name] = value;
  for (const std::string& name : change.removed) out->add_remove_labels(name);
}

void ToProto(const NodeChanged& changed, v1::SetNodeResponse* out) {
  out->set_changed(changed.differs);
  out->set_weight(changed.settings.weight);
  for (const auto& [name, value] : changed.settings.labels) (*out->mutable_labels())[name] = value;
}

NodeChange ChangeOf(const v1::SetNodeRequest& message) {
  NodeChange change{.labels = {message.labels().begin(), message.labels().end()},
                    .removed = {message.remove_labels().begin(), message.remove_labels().end()}};
  if (message.has_weight()) change.weight = message.weight();
  return change;
}

NodeChanged FromProto(const v1::SetNodeResponse& message) {
  return {.settings = {.weight = message.weight(),
                       .labels = {message.labels().begin(), message.labels().end()}},
          .differs = message.changed()};
}

std::string SettingText(const v1::SetNodeRequest& request) {
  return OneLine(ChangeWords(ChangeOf(request)), kLongestChangeText);
}

}  // namespace baton::runtime
