#include "app/daemon/connection_shares.h"

#include <algorithm>
#include <optional>

#include "base/log.h"

namespace baton::app {
namespace {

// To look at all descriptors takes a relay some milliseconds, so a flood must not cause it each
// time.
constexpr std::chrono::milliseconds kLookEvery{200};
constexpr std::chrono::minutes kWarnAgain{1};

/// nullopt: the descriptor is closed.
std::optional<struct stat> FileOf(int descriptor) {
  struct stat file {};
  if (fstat(descriptor, &file) != 0) return std::nullopt;
  return file;
}

}  // namespace

ConnectionListener::Served ConnectionShares::Admit(const Newcomer& newcomer,
                                                   const access::Caller& caller, TimePoint now) {
  using Served = ConnectionListener::Served;
  // Its number was given out again, so the connection that had it is over.
  if (const auto earlier = held_.find(newcomer.connection); earlier != held_.end()) Forget(earlier);
  if (caller.user && !access_->Refusal(caller, access::Role::kOperate)) {
    const auto may_stay = [access = access_, caller] {
      const auto refusal = access->Refusal(caller, access::Role::kOperate);
      return !refusal || refusal->why == access::Refused::Why::kUnknown;
    };
    const bool added =
        budget_->Add(newcomer.connection, "", LeastReserved(), {.may_stay = may_stay});
    return added ? Served::kTaken : Served::kNoPlace;
  }
  if (newcomer.free <= 0) return Served::kNoPlace;
  const std::string name = access::LimitedAs(caller);
  if (now >= look_at_) {
    look_at_ = now + kLookEvery;
    Look(newcomer);
  }
  if (budget_->IsBarred(name, now)) return Served::kShare;
  if (HasShare(newcomer, name)) {
    if (now < quiet_until_) return Served::kShare;
    quiet_until_ = now + kWarnAgain;
    log::Warn("gRPC connections are refused: this caller has its share of them",
              {{"by", name}, {"connections", of_caller_[name]}});
    return Served::kShare;
  }
  const auto file = FileOf(newcomer.connection);
  if (!file || !budget_->Add(newcomer.connection, name, newcomer.connection + newcomer.free))
    return Served::kNoPlace;
  held_[newcomer.connection] = {.caller = name, .device = file->st_dev, .file = file->st_ino};
  ++of_caller_[name];
  return Served::kTaken;
}

// The number of a new connection tells at least how many descriptors are in use. More are, if one
// that ended has left a low number.
bool ConnectionShares::HasShare(const Newcomer& newcomer, const std::string& caller) const {
  const auto known = of_caller_.find(caller);
  if (known == of_caller_.end()) return false;
  const auto used = std::max(newcomer.connection, static_cast<int>(held_.size()) + others_);
  const int free = newcomer.connection + newcomer.free - used;
  return kDescriptors * static_cast<int>(known->second) >= kTimesFree * free;
}

void ConnectionShares::Forget(HeldByDescriptor::const_iterator held) {
  const auto count = of_caller_.find(held->second.caller);
  if (--count->second == 0) of_caller_.erase(count);
  held_.erase(held);
}

void ConnectionShares::Look(const Newcomer& newcomer) {
  others_ = 0;
  const int places = newcomer.connection + newcomer.free;
  for (int descriptor = 0; descriptor < places; ++descriptor) {
    const auto file = FileOf(descriptor);
    const auto held = held_.find(descriptor);
    const bool same = file && held != held_.end() && file->st_dev == held->second.device &&
                      file->st_ino == held->second.file;
    if (held != held_.end() && !same) Forget(held);
    if (file && !same && descriptor != newcomer.connection) ++others_;
  }
}

}  // namespace baton::app
