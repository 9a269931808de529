#include "core/committed_revisions.h"

#include <algorithm>
#include <variant>

namespace baton::core {

void CommittedRevisions::NoteSent(const std::vector<Action>& actions) {
  for (const Action& action : actions) {
    if (const auto* write = std::get_if<SubmitWrite>(&action)) {
      before_.try_emplace(write->operation, highest_);
    } else if (const auto* confirm = std::get_if<ConfirmSession>(&action)) {
      before_.try_emplace(confirm->operation, highest_);
    }
  }
}

void CommittedRevisions::NoteCommitted(OperationId operation, Revision revision) {
  const auto sent = before_.extract(operation);
  if (revision.value == 0) return;
  const Revision known = sent.empty() ? Revision{} : sent.mapped();
  if (revision >= known) {
    highest_ = std::max(highest_, revision);
  } else if (!went_back_) {
    went_back_ = WentBack{.earlier = known, .later = revision};
  }
}

void CommittedRevisions::ForgetAllBut(const PendingWrites& pending) {
  std::erase_if(before_, [&](const auto& entry) { return !pending.Has(entry.first); });
}

}  // namespace baton::core
