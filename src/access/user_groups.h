// UserGroups: in which groups each user of this host is, as the host's user database says.
//
// To ask that may take seconds (a directory server), so a thread of its own asks, and answers are
// kept. The first call of Of that finds an answer older than a minute (kFresh) has the database
// asked again, and still gets the old one; but none counts that is older than ten minutes
// (kUsable). So a change of membership counts after a minute for a user who calls all the time, and
// after ten at the latest. kMostUsers users are kept; if there are more, those who called longest
// ago are forgotten, but never root and this process's user.
//
// Thread-safe; waits only for a short lock, except for Know and AwaitAnswers.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace baton::access {

using Groups = std::vector<gid_t>;

/// Asks the host's user database, which may take seconds. The user's main group is among them. A
/// user that the database does not have is in no group. nullopt: it does not answer.
std::optional<Groups> GroupsInDatabase(uid_t user);

class UserGroups {
 public:
  using Ask = std::function<std::optional<Groups>(uid_t)>;
  static constexpr std::chrono::seconds kFresh{60};    ///< then it is asked again
  static constexpr std::chrono::seconds kAskAgain{5};  ///< if there was no answer
  static constexpr std::chrono::minutes kUsable{10};   ///< of the last answer
  static constexpr std::size_t kMostUsers = 1024;

  /// `ask` is called by one thread at a time, except by Know, and also after the destructor, which
  /// does not wait for an answer: it must own what it uses.
  explicit UserGroups(Ask ask = GroupsInDatabase);
  ~UserGroups();
  UserGroups(const UserGroups&) = delete;
  UserGroups& operator=(const UserGroups&) = delete;

  /// Null: not known, or not yet; the database will be asked.
  std::shared_ptr<const Groups> Of(uid_t user, TimePoint now);
  /// Asks now, on this thread, and waits for the answer. REQUIRES: nobody else calls Know.
  void Know(uid_t user, TimePoint now);
  /// Returns once no question waits for its answer. For tests.
  void AwaitAnswers();

 private:
  struct State;
  const std::shared_ptr<State> state_;  // the thread shares it
};

}  // namespace baton::access
