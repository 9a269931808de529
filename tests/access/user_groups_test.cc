// In which groups a user is: asked beside the caller, and kept for a while.
#include "access/user_groups.h"

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace baton::access {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pointee;

constexpr TimePoint kBegin{1000h};
constexpr uid_t kAlice = 4711;

/// A user database. It answers for nobody unless it is told to.
class Database {
 public:
  void Set(uid_t user, std::optional<Groups> groups) {
    const std::lock_guard lock(shared_->mutex);
    shared_->groups[user] = std::move(groups);
  }
  int asked() const { return static_cast<int>(order().size()); }
  /// For whom it was asked, in order.
  std::vector<uid_t> order() const {
    const std::lock_guard lock(shared_->mutex);
    return shared_->order;
  }
  /// It answers nobody while the result lives.
  std::unique_lock<std::mutex> StandStill() { return std::unique_lock(shared_->answers); }
  /// Waits until it was asked so often.
  void AwaitQuestions(std::size_t asked) const {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait(lock, [&] { return shared_->order.size() >= asked; });
  }
  UserGroups::Ask Ask() const {
    return [shared = shared_](uid_t user) {
      {
        const std::lock_guard lock(shared->mutex);
        shared->order.push_back(user);
        shared->changed.notify_all();
      }
      const std::lock_guard answers(shared->answers);
      const std::lock_guard lock(shared->mutex);
      return shared->groups[user];
    };
  }

 private:
  struct Shared {
    std::mutex answers;  // held while it stands still
    std::mutex mutex;
    std::condition_variable changed;
    std::map<uid_t, std::optional<Groups>> groups;
    std::vector<uid_t> order;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
};

class UserGroupsTest : public testing::Test {
 protected:
  /// The groups that are known once the questions so far are answered.
  std::shared_ptr<const Groups> Later(uid_t user, TimePoint now) {
    groups_.Of(user, now);
    groups_.AwaitAnswers();
    return groups_.Of(user, now);
  }

  Database database_;
  UserGroups groups_{database_.Ask()};
};

// Plan: a first call, many within a minute, and one after it, which finds the earlier groups still.
TEST_F(UserGroupsTest, AreAskedForOnceAMinute) {
  database_.Set(kAlice, Groups{7, 8});
  EXPECT_EQ(groups_.Of(kAlice, kBegin), nullptr) << "not yet";
  EXPECT_THAT(Later(kAlice, kBegin), Pointee(ElementsAre(7, 8)));
  database_.Set(kAlice, Groups{7});
  for (auto at = kBegin; at < kBegin + UserGroups::kFresh; at += 1s) {
    EXPECT_THAT(groups_.Of(kAlice, at), Pointee(ElementsAre(7, 8)));
  }
  EXPECT_EQ(database_.asked(), 1);
  EXPECT_THAT(groups_.Of(kAlice, kBegin + UserGroups::kFresh), Pointee(Contains(7)));
  EXPECT_THAT(Later(kAlice, kBegin + UserGroups::kFresh), Pointee(ElementsAre(7)));
  EXPECT_EQ(database_.asked(), 2);
}

// Plan: the database is away from some time on, and before a user's first call.
TEST_F(UserGroupsTest, TheLastAnswerCountsWhileTheDatabaseIsAway) {
  EXPECT_EQ(Later(kAlice, kBegin), nullptr);
  EXPECT_EQ(Later(kAlice, kBegin + 1s), nullptr);
  EXPECT_EQ(database_.asked(), 1) << "not asked again at once";
  database_.Set(kAlice, Groups{7});
  const TimePoint known = kBegin + UserGroups::kAskAgain;
  EXPECT_THAT(Later(kAlice, known), Pointee(ElementsAre(7)));
  database_.Set(kAlice, std::nullopt);
  EXPECT_THAT(Later(kAlice, known + UserGroups::kUsable - 1s), Pointee(ElementsAre(7)));
  EXPECT_EQ(Later(kAlice, known + UserGroups::kUsable), nullptr);
}

// Plan: more users than are kept; those who called least lately are asked for again, and one who
// was known from the start is not.
TEST_F(UserGroupsTest, OfThoseWhoCalledLatelyAreKept) {
  database_.Set(0, Groups{0});
  groups_.Know(0, kBegin);
  const auto most = static_cast<uid_t>(UserGroups::kMaxUsers);
  for (uid_t user = 1; user <= most; ++user) {
    database_.Set(user, Groups{user});
    EXPECT_THAT(Later(user, kBegin + user * 1ms), Pointee(ElementsAre(user)));
  }
  const int asked = database_.asked();
  EXPECT_THAT(groups_.Of(0, kBegin + 5s), Pointee(ElementsAre(0)));
  EXPECT_THAT(groups_.Of(most, kBegin + 5s), Pointee(ElementsAre(most)));
  EXPECT_EQ(database_.asked(), asked);
  EXPECT_THAT(Later(1, kBegin + 5s), Pointee(ElementsAre(1)));
  EXPECT_EQ(database_.asked(), asked + 1);
}

// Plan: somebody calls as very many users without groups, one after another. Alice, who called
// before all of them, stays known.
TEST_F(UserGroupsTest, OfUsersWithoutGroupsAreForgottenFirst) {
  database_.Set(kAlice, Groups{7});
  EXPECT_THAT(Later(kAlice, kBegin), Pointee(ElementsAre(7)));
  const auto most = static_cast<uid_t>(2 * UserGroups::kMaxUsers);
  for (uid_t user = 100'000; user < 100'000 + most; ++user) {
    database_.Set(user, Groups{});
    Later(user, kBegin + 1s);
  }
  const int asked = database_.asked();
  EXPECT_THAT(groups_.Of(kAlice, kBegin + 2s), Pointee(ElementsAre(7)));
  EXPECT_EQ(database_.asked(), asked);
}

// Plan: the database stands still while users without groups fill all places, and goes on. Alice's
// groups are too old by then, and hers is the next answer. A user beyond the places gets one later.
TEST_F(UserGroupsTest, OfUsersWhoHadSomeAreAskedForFirst) {
  database_.Set(kAlice, Groups{7});
  EXPECT_THAT(Later(kAlice, kBegin), Pointee(ElementsAre(7)));
  const TimePoint now = kBegin + UserGroups::kUsable;
  const auto most = static_cast<uid_t>(UserGroups::kMaxWaiting);
  {
    const auto still = database_.StandStill();
    groups_.Of(99'999, now);
    database_.AwaitQuestions(2);
    for (uid_t user = 100'000; user < 100'000 + most + 9; ++user) groups_.Of(user, now);
    EXPECT_EQ(groups_.Of(kAlice, now), nullptr);
  }
  groups_.AwaitAnswers();
  const std::vector<uid_t> order = database_.order();
  ASSERT_EQ(order.size(), 3 + most);
  EXPECT_THAT(std::vector(order.begin(), order.begin() + 4),
              ElementsAre(kAlice, 99'999, kAlice, 100'000));
  EXPECT_THAT(groups_.Of(kAlice, now), Pointee(ElementsAre(7)));
}

TEST(GroupsInDatabase, HaveRootsAndNobodyElses) {
  EXPECT_THAT(GroupsInDatabase(0).value(), Contains(0));
  EXPECT_THAT(GroupsInDatabase(3'999'999'999).value(), IsEmpty());
}

}  // namespace
}  // namespace baton::access
