// etcd's tokens: got by user and password, shared by all calls, renewed while in use.
//
// Where the password was changed here before it is in etcd, the one that etcd took last is tried
// too, so that either may change first.
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
  std::string value;             ///< empty: calls go without
  std::uint64_t generation = 0;  ///< which token this is, to give up that one only
};

class TokenKeeper {
 public:
  using Ready = std::function<void(const CallStatus&, const Token&)>;

  TokenKeeper(GrpcCore& core, std::string user, std::string password);

  /// The token to use now; an empty one where no user is configured. Starts its renewal in the
  /// background when it is due. nullopt: Get one first.
  std::optional<Token> Current();

  /// Answers with a token, or with why there is none, by `deadline`; never from inside this call
  /// unless the transport closes. Joins a request under way that ends in time.
  void Get(TimePoint deadline, Ready ready);

  /// etcd rejected this token: never use it again.
  void GiveUp(std::uint64_t generation);
  /// etcd denied permission. Members say so too where they lost the token: it is given up, once.
  /// False if it is fresh and took the place of one denied before: the denial is the role's.
  bool GiveUpUnlessFresh(std::uint64_t generation);

  /// Tried at the next call; the token held goes on until etcd rejects it, or there is another.
  void SetPassword(std::string password);

 private:
  /// Which password is tried: etcd may change between the first two, so that the first is again.
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
  std::optional<std::string> taken_;    // mutex_; the password that etcd took last, or the first
  CallStatus refusal_;                  // mutex_; what etcd said to the newest one last
  std::uint64_t told_version_ = 0;      // mutex_; of the password that was told of, as ...
  bool told_taken_ = true;              // mutex_; ... taken or not
  bool renew_now_ = false;              // mutex_
  std::optional<Token> token_;          // mutex_
  TimePoint obtained_{};                // mutex_
  bool replaces_denied_ = false;        // mutex_; token_ was got because of a denial
  bool denied_ = false;                 // mutex_; the next token is got because of a denial
  std::uint64_t generations_ = 0;       // mutex_
  std::shared_ptr<Flight> flight_;      // mutex_; the latest request under way
};

}  // namespace baton::etcd
