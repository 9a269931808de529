#include "access/user_groups.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"

namespace baton::access {
namespace {

constexpr std::size_t kLargestEntry = 1 << 20;  // bytes, of the user database
constexpr int kMaxGroups = 1 << 16;             // of a user: what Linux allows

/// They may always call, and must not be crowded out.
bool IsKept(uid_t user) { return user == 0 || user == geteuid(); }

}  // namespace

int AskDatabase(std::vector<char>& buffer, const std::function<int()>& look) {
  buffer.resize(4096);
  int wrong = 0;
  while ((wrong = look()) == ERANGE && buffer.size() < kLargestEntry) {
    buffer.resize(2 * buffer.size());
  }
  return wrong;
}

std::optional<Groups> GroupsInDatabase(uid_t user) {
  std::vector<char> buffer;
  passwd entry{};
  passwd* found = nullptr;
  const int wrong = AskDatabase(
      buffer, [&] { return getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found); });
  if (found == nullptr) {
    return wrong == 0 ? std::optional(Groups()) : std::nullopt;
  }
  int count = 64;
  Groups groups(static_cast<std::size_t>(count));
  while (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) {
    if (count > kMaxGroups || static_cast<std::size_t>(count) <= groups.size()) return std::nullopt;
    groups.resize(static_cast<std::size_t>(count));
  }
  groups.resize(static_cast<std::size_t>(count));
  return groups;
}

struct UserGroups::State {
  struct Entry {
    std::shared_ptr<const Groups> groups = {};  ///< null: never answered
    TimePoint at{};                             ///< of that answer
    TimePoint ask_at{};                         ///< the next question, not earlier
    TimePoint used{};
    bool waits = false;  ///< for an answer
  };

  explicit State(Ask how) : ask(std::move(how)) {}

  static bool HasGroups(const Entry& entry) {
    return entry.groups != nullptr && !entry.groups->empty();
  }

  // A caller that may act for other users of this host has any number of users without groups.
  static bool IsForgottenBefore(const Entry& one, const Entry& other) {
    const bool has = HasGroups(one), other_has = HasGroups(other);
    return has != other_has ? other_has : one.used < other.used;
  }

  // REQUIRES: mutex is held. Null: there is no place now.
  Entry* EntryOf(uid_t user) {
    if (const auto known = users.find(user); known != users.end()) return &known->second;
    if (others.size() >= kMaxWaiting) return nullptr;
    if (users.size() >= kMaxUsers) {
      auto first = users.end();
      for (auto one = users.begin(); one != users.end(); ++one) {
        if (one->second.waits || IsKept(one->first)) continue;
        if (first == users.end() || IsForgottenBefore(one->second, first->second)) first = one;
      }
      if (first == users.end()) return nullptr;
      users.erase(first);
    }
    return &users[user];
  }

  // REQUIRES: mutex is held.
  static void Answered(Entry& entry, std::optional<Groups> answer, TimePoint now) {
    entry.waits = false;
    entry.ask_at = now + (answer ? kFresh : kAskAgain);
    if (!answer) return;
    entry.groups = std::make_shared<const Groups>(*std::move(answer));
    entry.at = now;
  }

  void Run() {
    std::unique_lock lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || !AllAnswered(); });
      if (ending) return;
      Questions& next = urgent.empty() ? others : urgent;
      const auto [user, asked] = next.front();
      next.pop_front();
      asking = true;
      lock.unlock();
      auto answer = ask(user);
      lock.lock();
      asking = false;
      if (const auto entry = users.find(user); entry != users.end()) {
        Answered(entry->second, std::move(answer), asked);
      }
      changed.notify_all();
    }
  }

  bool AllAnswered() const { return urgent.empty() && others.empty() && !asking; }

  using Questions = std::deque<std::pair<uid_t, TimePoint>>;  // one a user

  const Ask ask;
  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  std::map<uid_t, Entry> users;  // at most kMaxUsers
  Questions urgent;              // about users with groups; they come first
  Questions others;              // at most kMaxWaiting
  bool asking = false;           // the thread asks a question
  bool running = false;          // the thread
  bool ending = false;
};

UserGroups::UserGroups(Ask ask) : state_(std::make_shared<State>(std::move(ask))) {}

UserGroups::~UserGroups() {
  const std::lock_guard lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
}

std::shared_ptr<const Groups> UserGroups::Of(uid_t user, TimePoint now) {
  const std::lock_guard lock(state_->mutex);
  State::Entry* const entry = state_->EntryOf(user);
  if (entry == nullptr) return nullptr;
  entry->used = now;
  const bool place = State::HasGroups(*entry) || state_->others.size() < kMaxWaiting;
  const bool due = !entry->waits && now >= entry->ask_at && place;
  if (due && !state_->running) {
    try {
      std::thread([state = state_] { state->Run(); }).detach();
      state_->running = true;
    } catch (const std::system_error& error) {
      log::Warn("nobody's groups can be asked for", {{"error", error.what()}});
      entry->ask_at = now + kAskAgain;
    }
  }
  if (due && state_->running) {
    entry->waits = true;
    (State::HasGroups(*entry) ? state_->urgent : state_->others).emplace_back(user, now);
    state_->changed.notify_all();
  }
  return entry->groups != nullptr && now < entry->at + kUsable ? entry->groups : nullptr;
}

void UserGroups::Know(uid_t user, TimePoint now) {
  auto answer = state_->ask(user);
  const std::lock_guard lock(state_->mutex);
  State::Entry* const entry = state_->EntryOf(user);
  if (entry != nullptr && !entry->waits) State::Answered(*entry, std::move(answer), now);
}

void UserGroups::AwaitAnswers() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->AllAnswered(); });
}

}  // namespace baton::access
