// TokenKeeper gets etcd's tokens by user and password, shares them among all calls, and renews them
// while they are used.
//
// A new password may reach Baton before etcd. So if etcd refuses the newest password, the last one
// that etcd accepted is tried too.
//
// Part of GrpcTransport. Thread-safe; never calls back under its lock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "etcd/transport.h"

namespace baton::etcd {

class GrpcCore;

struct Token {
  std::string value;             ///< empty: calls go without a token
  std::uint64_t generation = 0;  ///< identifies the token, to give up only this one
};

class TokenKeeper {
 public:
  using Ready = std::function<void(const CallStatus&, const Token&)>;

  TokenKeeper(GrpcCore& core, std::string user, std::string password);

  /// The token to use now; an empty one if no user is configured; nullopt: call Get first. Starts
  /// the token's renewal in the background when it is due.
  std::optional<Token> Current();

  /// Calls `ready` with a token, or with the reason why there is none, by `deadline`; never from
  /// inside this call unless the transport closes. Joins a request in flight that ends in time.
  void Get(TimePoint deadline, Ready ready);

  /// etcd rejected this token: it is never used again.
  void GiveUp(std::uint64_t generation);
  /// etcd denied permission. A member that lost the token also answers so, so the token is dropped,
  /// once. Returns false if the token is fresh and replaced one that was denied, too: then the role
  /// really lacks the right.
  bool GiveUpUnlessFresh(std::uint64_t generation);

  /// Sets the newest password, used from the next authentication on. The present token is used
  /// until etcd rejects it or there is another.
  void SetPassword(std::string password);

 private:
  /// Which password is tried. etcd may change between the first two tries, so the newest one is
  /// tried again.
  enum class Try { kNewest, kTakenLast, kNewestAgain };

  struct Flight {
    TimePoint deadline;
    std::uint64_t password_version = 0;
    Try which = Try::kNewest;
    std::string password;
    std::vector<Ready> waiting;
  };

  std::shared_ptr<Flight> NewFlight(TimePoint deadline);
  void Launch(const std::shared_ptr<Flight>& flight);
  void Land(const std::shared_ptr<Flight>& flight, Reply<etcdserverpb::AuthenticateResponse> reply);
  bool TriesAnotherPassword(Flight& flight, const CallStatus& status);
  void Tell(const Flight& flight, const CallStatus& status);

  GrpcCore& core_;
  const std::string user_;

  std::mutex mutex_;
  std::string password_;                // mutex_
  std::uint64_t password_version_ = 0;  // mutex_
  // mutex_; the password that etcd accepted last, or else the first one
  std::optional<std::string> taken_;
  CallStatus refusal_;              // mutex_; etcd's last answer to the newest password
  std::uint64_t told_version_ = 0;  // mutex_; the last report was about this password version ...
  bool told_taken_ = true;          // mutex_; ... and said that etcd accepted it, or not
  bool renew_now_ = false;          // mutex_
  std::optional<Token> token_;      // mutex_
  TimePoint obtained_{};            // mutex_
  bool replaces_denied_ = false;    // mutex_; token_ was got because of a denial
  bool denied_ = false;             // mutex_; the next token is got because of a denial
  std::uint64_t generations_ = 0;   // mutex_
  std::shared_ptr<Flight> flight_;  // mutex_; the latest request in flight
};

}  // namespace baton::etcd
