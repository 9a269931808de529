#include "base/node_change.h"

#include <utility>

#include "base/limits.h"

namespace baton {
namespace {

Error Invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// Names that can't be a label's are refused, too: the typing mistake would look like a success.
Status CheckRemoved(const NodeChange& change) {
  if (change.removed.size() > kMaxLabels) {
    return Invalid(std::to_string(change.removed.size()) + " labels to remove; give at most " +
                   std::to_string(kMaxLabels));
  }
  for (const std::string& name : change.removed) {
    if (Status valid = CheckLabels({{name, "v"}}); !valid) return valid;
    if (change.labels.contains(name)) {
      return Invalid("label '" + name + "' is given and removed; do one of these");
    }
  }
  return Ok();
}

void AddWords(const std::string& more, std::string& words) {
  words += (words.empty() ? "" : ", ") + more;
}

}  // namespace

Result<NodeSettings> SettingsAfter(const NodeSettings& now, const NodeChange& change) {
  if (change.empty()) return Invalid("nothing to change; give a weight or a label");
  if (change.weight && *change.weight > kMaxWeight) {
    return Invalid("weight is " + std::to_string(*change.weight) + "; give 0 to " +
                   std::to_string(kMaxWeight));
  }
  if (Status valid = CheckRemoved(change); !valid) return valid.error();
  NodeSettings after = now;
  after.weight = change.weight.value_or(now.weight);
  for (const std::string& name : change.removed) after.labels.erase(name);
  for (const auto& [name, value] : change.labels) after.labels[name] = value;
  if (Status valid = CheckLabels(after.labels); !valid) return valid.error();
  return after;
}

std::string ChangeWords(const NodeChange& change) {
  std::string words;
  if (change.weight) AddWords("weight " + std::to_string(*change.weight), words);
  for (const auto& [name, value] : change.labels) AddWords("label " + name + "=" + value, words);
  for (const std::string& name : change.removed) AddWords("no label " + name, words);
  return words;
}

std::string SettingsWords(const NodeSettings& settings) {
  std::string labels;
  for (const auto& [name, value] : settings.labels) AddWords(name + "=" + value, labels);
  return "weight " + std::to_string(settings.weight) +
         (labels.empty() ? ", no labels"
                         : (settings.labels.size() == 1 ? ", label " : ", labels ") + labels);
}

}  // namespace baton
