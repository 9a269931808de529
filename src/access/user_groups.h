// UserGroups: in which groups each user of this host is, as the host's user database says.
//
// The database may take seconds to answer, for example if it is a directory server. So UserGroups
// asks it on a thread of its own, and keeps the answers. Of returns a kept answer until the answer
// is kUsable old. If the answer is older than kFresh, Of also asks the database again. If the
// database does not answer, the earlier answer stays, and Of asks again after kAskAgain. So a user
// who calls all the time gets new groups after about a minute. For other users, the earlier groups
// count for ten minutes at most.
//
// At most kMaxUsers users are kept. If one more user calls, one kept user is forgotten. Users
// without groups are forgotten first; within each kind, the user that called least recently. Root,
// this process's user, and users who wait for an answer are never forgotten. So somebody who may
// act for many users of this host (subuids) does not crowd out the others.
//
// Questions about users who had groups in their last answer come first. At most kMaxWaiting users
// without such groups wait for an answer. While so many wait, the database is not asked about more
// of these users, and no new user is kept.
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

/// Calls `look` and returns its result. `look` asks the host's user database for an entry with
/// `buffer`, as getpwnam_r does. While `look` returns ERANGE, calls it again with a larger
/// `buffer`, up to 1 MiB. If this is too small, too, returns ERANGE.
int AskDatabase(std::vector<char>& buffer, const std::function<int()>& look);

/// Asks the host's user database, which may take seconds. The result includes the user's main
/// group, and is empty if the database lacks the user. nullopt: the database gave no answer. If the
/// database answers only in part, the result may lack groups, and nothing shows this.
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
  /// time. The destructor does not wait. So `ask` may still run after the destructor, or be called
  /// once more. REQUIRES (not checked): `ask` owns everything that it uses.
  explicit UserGroups(Ask ask = GroupsInDatabase);
  ~UserGroups();
  UserGroups(const UserGroups&) = delete;
  UserGroups& operator=(const UserGroups&) = delete;

  /// Returns the user's groups. Empty: the database lacks the user. Null: the groups are not known
  /// now. If there is no answer yet, or the answer is older than kFresh, begins to ask the
  /// database. It does not ask while too many users wait, nor for kAskAgain after a question
  /// without an answer.
  std::shared_ptr<const Groups> Of(uid_t user, TimePoint now);
  /// Asks the database on this thread, and waits for the answer. If the database does not answer,
  /// an earlier answer stays. The answer is dropped if a question about the user waits, or if there
  /// is no place for a new user. REQUIRES (not checked): no other thread calls Know at the same
  /// time.
  void Know(uid_t user, TimePoint now);
  /// Waits until the thread has no question left. For tests.
  void AwaitAnswers();

 private:
  struct State;
  const std::shared_ptr<State> state_;  // the thread shares it
};

}  // namespace baton::access
