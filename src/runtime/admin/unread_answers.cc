#include "runtime/admin/unread_answers.h"

namespace baton::runtime {

UnreadAnswers::Answer* UnreadAnswers::Begin(grpc::CallbackServerContext& context,
                                            const google::protobuf::MessageLite& response) {
  return new Answer(*this, context, response);
}

bool UnreadAnswers::Full(Caller caller) {
  const std::lock_guard lock(mutex_);
  if (bytes_ < (caller == Caller::kFirst ? 2 : 1) * limits_.bytes) return false;
  const TimePoint now = BootClock::now();
  for (Answer* const answer : answers_) {
    if (now - answer->since_ < limits_.patience) break;
    if (answer->cut_off_) continue;
    answer->cut_off_ = true;
    ++counts_->cut_off;
    answer->context_.TryCancel();  // its OnDone follows, on another thread or later
  }
  ++counts_->refused;
  return true;
}

std::size_t UnreadAnswers::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

// Kept before it is sent, because its OnDone may come at once.
void UnreadAnswers::Keep(Answer& answer) {
  const std::size_t bytes = answer.response_.ByteSizeLong();
  const std::lock_guard lock(mutex_);
  answer.bytes_ = bytes;
  answer.since_ = BootClock::now();
  answer.place_ = answers_.insert(answers_.end(), &answer);
  answer.kept_ = true;
  bytes_ += bytes;
}

void UnreadAnswers::Drop(Answer& answer) {
  const std::lock_guard lock(mutex_);
  if (!answer.kept_) return;
  answers_.erase(answer.place_);
  bytes_ -= answer.bytes_;
}

void UnreadAnswers::Answer::Finish(const grpc::Status& status) {
  if (status.ok()) owner_.Keep(*this);
  ServerUnaryReactor::Finish(status);
}

void UnreadAnswers::Answer::OnDone() {
  owner_.Drop(*this);
  delete this;
}

}  // namespace baton::runtime
