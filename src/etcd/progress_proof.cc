#include "etcd/progress_proof.h"

#include <algorithm>

namespace baton::etcd {
namespace {

// Later members leave requests unanswered while the watch is behind. So many answers are waited for
// at most.
constexpr int kMaxUnanswered = 4;

}  // namespace

void ProgressProof::Asked() { unanswered_ = std::min(unanswered_ + 1, kMaxUnanswered); }

void ProgressProof::TakeEvents(std::size_t revisions) {
  owes_more_ = revisions >= kWatchBatch;
  answer_.reset();
}

std::optional<Revision> ProgressProof::TakeAnswer(Revision revision) {
  unanswered_ = std::max(0, unanswered_ - 1);
  if (owes_more_) return std::nullopt;
  if (answer_ && answer_->under_way > 0) {
    --answer_->under_way;
    return std::nullopt;
  }
  const std::optional<Answer> before = answer_;
  answer_ = Answer{revision, unanswered_};
  if (!before) return std::nullopt;
  return before->revision;
}

}  // namespace baton::etcd
