// UserGroups: in which groups each user of this host is, as the host's user database says.
//
// The database may take seconds to answer (a directory server), so a thread of its own asks it, and
// the answers are kept. If an answer is older than kFresh, Of still returns it, and the database is
// asked again. An answer older than kUsable is not used. If the database does not answer, the
// earlier answer stays, and the database is asked again after kAskAgain. So a user who calls all
// the time gets its new groups after about a minute. Any other user gets them after ten minutes at
// most.
//
// Somebody who may act for many users of this host (subuids) must not crowd out the others. So at
// most kMaxUsers users are kept. Beyond that, the user whose last call is oldest is forgotten,
// first among those without groups. Root, this process's user, and users who wait for an answer are
// never forgotten.
//
// Users who had groups in their last answer are asked about before all others. Of the others, at
// most kMaxWaiting wait for an answer. While so many wait, the database is not asked about further
// ones, and a user who is not kept yet gets no place.
//
// Thread-safe; waits only for a short lock, except Know and AwaitAnswers.
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

/// Calls `look`, which asks the host's user database for an entry as getpwnam_r does, and returns
/// its last answer. While `look` returns ERANGE, it is called again with a larger `buffer`, of up
/// to 1 MiB.
int AskDatabase(std::vector<char>& buffer, const std::function<int()>& look);

/// Asks the host's user database, which may take seconds. The result includes the user's main
/// group, and is empty if the database lacks the user. nullopt: no answer about the user. The
/// result may lack groups if the database answers only in part: the system may not say so.
std::optional<Groups> GroupsInDatabase(uid_t user);

class UserGroups {
 public:
  using Ask = std::function<std::optional<Groups>(uid_t)>;
  static constexpr std::chrono::seconds kFresh{60};    ///< the age from which Of asks again
  static constexpr std::chrono::seconds kAskAgain{5};  ///< the pause if the database did not answer
  static constexpr std::chrono::minutes kUsable{10};   ///< the age from which answers are not used
  static constexpr std::size_t kMaxUsers = 1024;
  static constexpr std::size_t kMaxWaiting = 64;

  /// This object's thread calls `ask` for one user after another; a call by Know may come at the
  /// same time. `ask` may be called after this object's end, because the destructor does not wait.
  /// REQUIRES: `ask` owns everything that it uses.
  explicit UserGroups(Ask ask = GroupsInDatabase);
  ~UserGroups();
  UserGroups(const UserGroups&) = delete;
  UserGroups& operator=(const UserGroups&) = delete;

  /// Returns the user's groups. Null: they are not known now. Begins to ask the database if needed,
  /// and if there is a place among those who wait.
  std::shared_ptr<const Groups> Of(uid_t user, TimePoint now);
  /// Asks the database on this thread, and waits for the answer. If the database does not answer,
  /// an earlier answer stays. The answer is dropped if a question about the user waits, or if there
  /// is no place for a new user. REQUIRES: no other thread calls Know.
  void Know(uid_t user, TimePoint now);
  /// Waits until the thread has no question left. For tests.
  void AwaitAnswers();

 private:
  struct State;
  const std::shared_ptr<State> state_;  // the thread shares it
};

}  // namespace baton::access
