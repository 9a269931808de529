// DeniedPace: decides which callers without the role kLead get an answer that says why they may not
// attach. Each such answer needs a gRPC server of its own. Connections that get no answer are
// closed at once. So a user who connects again and again does not keep the server's thread busy.
//
// Pure: `now` is an argument, and must not go back. Not thread-safe.
#pragma once

#include <map>
#include <string>

#include "base/clock.h"

namespace baton::sidecar {

class DeniedPace {
 public:
  /// How many connections get an answer in a second: of one user, and of all users together.
  static constexpr int kOfOne = 4;
  static constexpr int kOfAll = 16;

  /// Whether this connection of `user` (access::LimitedAs) gets an answer. True: it is counted.
  bool Answers(const std::string& user, TimePoint now);

 private:
  TimePoint until_{};                    ///< of the second that is counted
  int all_ = 0;                          ///< answers in that second
  std::map<std::string, int> answered_;  ///< the same by user; at most kOfAll
};

}  // namespace baton::sidecar
