// UserGroups: in which groups each user of this host is, as the host's user database says.
//
// The database may take seconds to answer (a directory server), so a thread of its own asks it, and
// the answers are kept. If an answer is older than kFresh, Of still returns it, but asks the
// database again. Of does not return an answer that is older than kUsable. If the database does not
// answer, the earlier answer stays, and the first Of after kAskAgain asks the database again. So a
// user who calls all the time gets its new groups after about a minute. For any other user, the
// earlier groups count for ten minutes at most.
//
// Somebody who may act for many users of this host (subuids) must not crowd out the others. So at
// most kMaxUsers users are kept. If one more user calls, a kept user is forgotten: of the users
// without groups, the user that called least recently; if all have groups, of all users. Root, this
// process's user, and users who wait for an answer are never forgotten.
//
// The database is first asked about users who had groups in their last answer. Of the other users,
// at most kMaxWaiting wait for an answer. While so many wait, the database is not asked about more
// of these, and no new user is kept.
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

  /// This object's thread calls `ask` for one user after another. Know may call `ask` at the same
  /// time. The destructor does not wait, so `ask` may still run or be called after it. REQUIRES:
  /// `ask` owns everything that it uses.
  explicit UserGroups(Ask ask = GroupsInDatabase);
  ~UserGroups();
  UserGroups(const UserGroups&) = delete;
  UserGroups& operator=(const UserGroups&) = delete;

  /// Returns the user's groups. Empty: the database lacks the user. Null: the groups are not known
  /// now. If there is no answer yet, or it is older than kFresh, begins to ask the database, unless
  /// too many users wait.
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
