// TokenKeeper gets etcd's tokens by user and password, shares them among all calls, and renews them
// while they are used.
//
// A new password may reach Baton before it reaches etcd. So if etcd refuses the newest password,
// TokenKeeper tries the last password that etcd accepted. If etcd refuses that one, too,
// TokenKeeper tries the newest password once more.
//
// If authentication is turned off in etcd, calls go without a token. This lasts until the next
// renewal, or until etcd refuses a call without a token. After a failed renewal, the next one in
// the background begins 5 s later at the earliest, or at once for a new password.
//
// Part of GrpcTransport. Thread-safe; holds no lock while it calls back.
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
  std::uint64_t generation = 0;  ///< identifies the token, for GiveUp
};

class TokenKeeper {
 public:
  using Ready = std::function<void(const CallStatus&, const Token&)>;

  /// Empty `user`: no authentication. REQUIRES (not checked): `core` outlives this object and its
  /// requests.
  TokenKeeper(GrpcCore& core, std::string user, std::string password);

  /// Returns the token to use now. The token is empty if no user is configured, or if
  /// authentication is turned off in etcd. Nullopt: there is no token now, so call Get. If the
  /// token's renewal is due, Current starts the renewal in the background.
  std::optional<Token> Current();

  /// Gets a token from etcd, and calls `ready` once, with the token or with an error. This happens
  /// on the thread of GrpcCore::queue(), soon after `deadline` at the latest. While the transport
  /// closes, Get may call `ready` itself. If a request with the newest password is in flight and
  /// ends by `deadline`, Get waits for that request and sends none. REQUIRES (not checked): a user
  /// is configured.
  void Get(TimePoint deadline, Ready ready);

  /// etcd rejected this token: Current does not return it again. Does nothing if there is another
  /// token by now.
  void GiveUp(std::uint64_t generation);
  /// etcd denied permission to a call with this token, perhaps because a member of etcd has lost
  /// the token. Returns whether to try again with another token:
  ///  - No user is configured: false.
  ///  - This is not the present token: true.
  ///  - The present token is less than 5 s old and replaced a token that was denied: false, because
  ///    the role lacks the right.
  ///  - Otherwise: true. Gives the token up.
  bool GiveUpUnlessFresh(std::uint64_t generation);

  /// Sets the newest password, for all later requests for a token. Once no earlier request is in
  /// flight, the next call of Current that has a token starts a request. The present token is used
  /// until etcd rejects it or another token replaces it. No effect without a user, or for the same
  /// password.
  void SetPassword(std::string password);

 private:
  /// The password that is tried. etcd may get the newest password between the first two tries, so
  /// the third try uses that password again.
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
