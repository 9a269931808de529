#include "shards.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace kv {

Shards::Shards(Options options) : options_(std::move(options)), shards_(options_.count) {}

Shards::~Shards() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }
  if (loader_.joinable()) loader_.join();
}

ShardStore& Shards::Open(baton::ShardId id, Shard& shard) {
  if (shard.store == nullptr) {
    shard.store = std::make_unique<ShardStore>(options_.folder, options_.group, id);
  }
  return *shard.store;
}

// REQUIRES: the shard's lock is held.
Shards::Time Shards::BeginLoad(Shard& shard) {
  return shard.loaded_at =
             std::min(shard.loaded_at, std::chrono::steady_clock::now() + options_.load_time);
}

// Waits until the shard's data is loaded. The lock is not held meanwhile, so that requests for the
// shard are refused at once. The load goes on from where a standby is.
void Shards::Load(baton::ShardId id, Shard& shard) {
  std::unique_lock lock(shard.mutex);
  const Time loaded_at = BeginLoad(shard);
  lock.unlock();
  std::this_thread::sleep_until(loaded_at);
  lock.lock();
  Open(id, shard);
}

// REQUIRES: the shard's lock is held.
void Shards::Drop(Shard& shard) {
  shard.store.reset();
  shard.loaded_at = Time::max();
}

bool Shards::Serve(baton::ShardId id, baton::Term term,
                   const std::function<void(ShardStore&)>& serve) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  if (shard.serving != term) return false;
  serve(*shard.store);
  return true;
}

// ---- standbys ----------------------------------------------------------------------------------

void Shards::BeginStandbys(std::function<void(baton::ShardId, bool)> say_ready) {
  say_ready_ = std::move(say_ready);
  loader_ = std::thread([this] { LoadStandbys(); });
}

// All loads take equally long, so those that begin first are over first.
void Shards::LoadStandbys() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (loading_.empty()) {
      changed_.wait(lock);
    } else if (const auto [at, id] = loading_.front(); at > std::chrono::steady_clock::now()) {
      changed_.wait_until(lock, at);
    } else {
      loading_.pop_front();
      lock.unlock();
      LoadStandby(id);
      lock.lock();
    }
  }
}

// It says so with the lock held: StandbyEnded waits for it, so what it says is never about the next
// standby. A store that can't be opened is left to Acquired.
void Shards::LoadStandby(baton::ShardId id) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  if (!shard.standby || shard.loaded_at > std::chrono::steady_clock::now()) return;
  try {
    Open(id, shard);
    say_ready_(id, true);
  } catch (const DatabaseError& error) {
    std::fprintf(stderr, "shard %u can't be loaded: %s\n", id.value, error.what());
  }
}

// Loads the shard in the background. The file has what the leader writes, so nothing else is needed
// to keep the data fresh.
void Shards::Standby(baton::ShardId id) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  shard.standby = true;
  const Time loaded_at = BeginLoad(shard);
  const std::lock_guard lock_loading(mutex_);
  loading_.emplace_back(loaded_at, id);
  changed_.notify_all();
}

void Shards::StandbyEnded(baton::ShardId id) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  shard.standby = false;
  Drop(shard);
}

// ---- leaderships -------------------------------------------------------------------------------

// Opens the store, which takes long, before the old leader stops. If the shard never comes, its
// store stays open; there are at most as many as the group has shards.
void Shards::Prepare(baton::ShardId id) { Load(id, shards_.at(id.value)); }

// Raises the fence before the first request is served. If the file can't be opened or has seen a
// newer term, this throws, and the node gives the shard up. A standby that is ready has loaded the
// shard already, so it serves at once.
void Shards::Acquired(baton::ShardId id, baton::Term term) {
  Shard& shard = shards_.at(id.value);
  Load(id, shard);
  const std::lock_guard lock(shard.mutex);
  shard.standby = false;
  Open(id, shard).Raise(term);
  shard.serving = term;
}

void Shards::Releasing(baton::ShardId id, baton::Term) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  shard.serving = {};
}

void Shards::Lost(baton::ShardId id, baton::Term, baton::Reason) {
  Shard& shard = shards_.at(id.value);
  const std::lock_guard lock(shard.mutex);
  shard.serving = {};
  shard.standby = false;
  Drop(shard);
}

}  // namespace kv
