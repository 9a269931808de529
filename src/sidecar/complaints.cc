#include "sidecar/complaints.h"

#include <chrono>

#include "base/log.h"

namespace baton::sidecar {
namespace {

constexpr std::chrono::minutes kSayAgain{1};

}  // namespace

void Complaints::Say(const char* what, const access::Caller& caller) {
  const TimePoint now = BootClock::now();
  {
    const std::lock_guard lock(mutex_);
    TimePoint& not_before = say_at_.try_emplace(what, TimePoint::min()).first->second;
    if (now < not_before) return;
    not_before = now + kSayAgain;
  }
  log::Warn(what, {{"by", access::NameOf(caller)}});
}

void Complaints::SayDenied(const access::Caller& caller) {
  ++denied_;
  Say("a user who may not attach connects to the sidecar; see --access", caller);
}

}  // namespace baton::sidecar
