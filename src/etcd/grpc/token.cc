#include "etcd/grpc/token.h"

#include <utility>

#include "etcd/grpc/core.h"
#include "etcd/grpc/unary.h"

namespace baton::etcd {
namespace {

// If permission is denied under a token younger than this, the token is not the cause.
constexpr Duration kFresh = std::chrono::seconds(5);
// After a failed renewal in the background. etcd hashes each password that it checks, and too many
// attempts would keep a busy etcd busy.
constexpr Duration kRenewalPause = std::chrono::seconds(5);

bool AuthIsOff(const CallStatus& status) {
  return status.code == grpc::StatusCode::FAILED_PRECONDITION &&
         status.message.find("authentication is not enabled") != std::string::npos;
}

}  // namespace

TokenKeeper::TokenKeeper(GrpcCore& core, std::string user, std::string password)
    : core_(core), user_(std::move(user)), password_(std::move(password)) {}

std::optional<Token> TokenKeeper::Current() {
  if (user_.empty()) return Token{};
  std::shared_ptr<Flight> renewal;
  std::optional<Token> token;
  {
    const std::lock_guard lock(mutex_);
    token = token_;
    const TimePoint now = BootClock::now();
    const bool due = renew_now_ || now - obtained_ >= core_.options().token_renewal;
    if (token && !flight_ && due) {
      renewal = NewFlight(now + core_.options().unary_bound);
    }
  }
  if (renewal) Launch(renewal);
  return token;
}

void TokenKeeper::Get(TimePoint deadline, Ready ready) {
  std::shared_ptr<Flight> flight;
  {
    const std::lock_guard lock(mutex_);
    const bool joins =
        flight_ && flight_->deadline <= deadline && flight_->password_version == password_version_;
    if (joins) {
      flight_->waiting.push_back([this, deadline, ready = std::move(ready)](
                                     const CallStatus& status, const Token& token) mutable {
        const bool ended_early = status.code == grpc::StatusCode::DEADLINE_EXCEEDED &&
                                 BootClock::now() < deadline && !core_.closing();
        if (ended_early) return Get(deadline, std::move(ready));
        ready(status, token);
      });
      return;
    }
    flight = NewFlight(deadline);
    flight->waiting.push_back(std::move(ready));
  }
  Launch(flight);
}

// REQUIRES: mutex_ is held.
std::shared_ptr<TokenKeeper::Flight> TokenKeeper::NewFlight(TimePoint deadline) {
  flight_ = std::make_shared<Flight>();
  flight_->deadline = deadline;
  flight_->password_version = password_version_;
  flight_->password = password_;
  renew_now_ = false;
  return flight_;
}

void TokenKeeper::Launch(const std::shared_ptr<Flight>& flight) {
  etcdserverpb::AuthenticateRequest request;
  request.set_name(user_);
  request.set_password(flight->password);
  StartUnary<AuthenticateMethod>(core_, Share(request), flight->deadline,
                                 [this, flight](Reply<etcdserverpb::AuthenticateResponse> reply) {
                                   Land(flight, std::move(reply));
                                 });
}

void TokenKeeper::Land(const std::shared_ptr<Flight>& flight,
                       Reply<etcdserverpb::AuthenticateResponse> reply) {
  CallStatus status = reply.status;
  const bool auth_is_off = AuthIsOff(status);
  if (auth_is_off) status = CallStatus{.outcome = Outcome::kDone, .code = 0, .message = ""};
  if (TriesAnotherPassword(*flight, status)) return Launch(flight);
  if (!auth_is_off) Tell(*flight, status);
  std::vector<Ready> waiting;
  Token token;
  {
    const std::lock_guard lock(mutex_);
    if (flight_ == flight) flight_.reset();
    waiting = std::move(flight->waiting);
    const bool old_password = flight->password_version != password_version_;
    if (!status.ok()) {
      obtained_ = BootClock::now() - core_.options().token_renewal + kRenewalPause;
    }
    if (!status.ok() && old_password) {
      status.outcome = Outcome::kUnknown;
      status.permanent = false;
    }
    if (status.ok()) {
      if (!auth_is_off) taken_ = flight->password;
      token = Token{.value = reply.response.token(), .generation = ++generations_};
      if (!old_password) {
        token_ = token;
        obtained_ = BootClock::now();
        replaces_denied_ = std::exchange(denied_, false);
      }
    }
  }
  for (const Ready& ready : waiting) ready(status, token);
}

bool TokenKeeper::TriesAnotherPassword(Flight& flight, const CallStatus& status) {
  if (status.outcome != Outcome::kRefused) return false;
  const std::lock_guard lock(mutex_);
  if (flight.password_version != password_version_) return false;
  switch (flight.which) {
    case Try::kNewest:
      refusal_ = status;
      if (!taken_ || *taken_ == password_) return false;
      flight.which = Try::kTakenLast;
      flight.password = *taken_;
      return true;
    case Try::kTakenLast:
      flight.which = Try::kNewestAgain;
      flight.password = password_;
      return true;
    case Try::kNewestAgain: return false;
  }
  return false;
}

// Reports about passwords set after the start: once that etcd rejects it, and once that it accepts
// it.
void TokenKeeper::Tell(const Flight& flight, const CallStatus& status) {
  const bool taken = flight.which != Try::kTakenLast;
  CallStatus told = status;
  {
    const std::lock_guard lock(mutex_);
    if (!status.ok() || flight.password_version != password_version_ || password_version_ == 0) {
      return;
    }
    if (told_version_ == password_version_ && told_taken_ == taken) return;
    told_version_ = password_version_;
    told_taken_ = taken;
    if (!taken) told = refusal_;
  }
  core_.TellOfCredentials("password", told);
}

void TokenKeeper::GiveUp(std::uint64_t generation) {
  const std::lock_guard lock(mutex_);
  if (token_ && token_->generation == generation) token_.reset();
}

bool TokenKeeper::GiveUpUnlessFresh(std::uint64_t generation) {
  if (user_.empty()) return false;
  const std::lock_guard lock(mutex_);
  if (!token_ || token_->generation != generation) return true;
  if (replaces_denied_ && BootClock::now() - obtained_ < kFresh) return false;
  token_.reset();
  denied_ = true;
  return true;
}

void TokenKeeper::SetPassword(std::string password) {
  const std::lock_guard lock(mutex_);
  if (password == password_) return;
  // The first password may be etcd's even if no call has asked etcd yet.
  if (!taken_) taken_ = password_;
  password_ = std::move(password);
  ++password_version_;
  renew_now_ = true;
}

}  // namespace baton::etcd
