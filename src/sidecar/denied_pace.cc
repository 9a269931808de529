#include "sidecar/denied_pace.h"

#include <chrono>

namespace baton::sidecar {

bool DeniedPace::Answers(const std::string& user, TimePoint now) {
  if (now >= until_) {
    until_ = now + std::chrono::seconds(1);
    all_ = 0;
    answered_.clear();
  }
  if (all_ >= kOfAll) return false;
  int& answers = answered_[user];
  if (answers >= kOfOne) return false;
  ++answers;
  ++all_;
  return true;
}

}  // namespace baton::sidecar
