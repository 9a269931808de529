#include "runtime/dispatcher.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "base/check.h"

namespace baton::runtime {
namespace {

namespace asio = boost::asio;

// If callbacks wait and none returns for this long, all threads are blocked, and one more is added.
constexpr std::chrono::milliseconds kBlocked{20};

}  // namespace

struct ThreadPoolDispatcher::State {
  using Strand = asio::strand<asio::thread_pool::executor_type>;

  explicit State(std::size_t threads) : pool(threads), thread_count(threads) {}

  void Grow();

  asio::thread_pool pool;
  std::mutex mutex;  // guards all members below
  std::condition_variable changed;
  std::unordered_map<ShardId, std::pair<Strand, std::size_t>> strands;  // with their functions
  std::vector<std::thread> extra;
  std::size_t thread_count;
  std::size_t running = 0;
  std::size_t waiting = 0;
  std::uint64_t returned = 0;
  bool finishing = false;
  bool finished = false;
  std::thread supervisor;
};

// Adds a thread whenever callbacks wait and all threads are blocked.
void ThreadPoolDispatcher::State::Grow() {
  std::unique_lock lock(mutex);
  while (!finishing || running + waiting > 0) {
    changed.wait(lock, [&] {
      return (waiting > 0 && running >= thread_count) || (finishing && running + waiting == 0);
    });
    const std::uint64_t before = returned;
    changed.wait_for(lock, kBlocked, [&] { return finishing && running + waiting == 0; });
    const bool blocked = waiting > 0 && returned == before && running >= thread_count;
    if (!blocked || thread_count >= kMaxThreads) continue;
    ++thread_count;
    extra.emplace_back([this] { pool.attach(); });
  }
}

ThreadPoolDispatcher::ThreadPoolDispatcher(std::size_t threads) {
  BATON_CHECK(threads >= 1 && threads <= kMaxThreads);
  state_ = std::make_unique<State>(threads);
  state_->supervisor = std::thread([state = state_.get()] { state->Grow(); });
}

ThreadPoolDispatcher::~ThreadPoolDispatcher() { Finish(); }

void ThreadPoolDispatcher::Run(ShardId shard, std::function<void()> function) {
  State& state = *state_;
  std::lock_guard lock(state.mutex);
  if (state.finishing) return;
  auto found = state.strands.find(shard);
  if (found == state.strands.end()) {
    found = state.strands.emplace(shard, std::pair{asio::make_strand(state.pool), 0}).first;
  }
  ++found->second.second;
  ++state.waiting;
  if (state.running >= state.thread_count) state.changed.notify_all();
  asio::post(found->second.first, [&state, shard, function = std::move(function)] {
    {
      std::lock_guard taken(state.mutex);
      --state.waiting;
      ++state.running;
      // This took the last free thread, and more functions wait.
      if (state.waiting > 0 && state.running >= state.thread_count) state.changed.notify_all();
    }
    function();
    std::lock_guard done(state.mutex);
    --state.running;
    ++state.returned;
    const auto entry = state.strands.find(shard);
    if (--entry->second.second == 0) state.strands.erase(entry);
    if (state.running + state.waiting == 0) state.changed.notify_all();
  });
}

std::vector<ShardId> ThreadPoolDispatcher::FinishWithin(std::chrono::milliseconds bound) {
  std::unique_lock lock(state_->mutex);
  state_->finishing = true;
  state_->changed.notify_all();
  state_->changed.wait_for(lock, bound, [&] { return state_->running + state_->waiting == 0; });
  std::vector<ShardId> left;
  for (const auto& [shard, functions] : state_->strands) left.push_back(shard);
  std::sort(left.begin(), left.end());
  return left;
}

void ThreadPoolDispatcher::Finish() {
  {
    std::lock_guard lock(state_->mutex);
    if (state_->finished) return;
    state_->finished = true;
    state_->finishing = true;
    state_->changed.notify_all();
  }
  state_->supervisor.join();
  state_->pool.join();
  for (std::thread& thread : state_->extra) thread.join();
}

std::size_t ThreadPoolDispatcher::threads() const {
  std::lock_guard lock(state_->mutex);
  return state_->thread_count;
}

}  // namespace baton::runtime
