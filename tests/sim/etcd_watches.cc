// EtcdModel's watches: each shows what its member has applied, revision by revision.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "sim/etcd_model.h"

namespace baton::sim {
namespace {

// A separate loop serves watches that begin behind the store.
constexpr Duration kSyncEvery = milliseconds(100);

// A compaction also removes tombstones up to its revision (etcd #18089), and what the same revision
// put and deleted again.
bool OutlivesCompaction(const pb::Event& event, const std::vector<pb::Event>& revision) {
  return std::none_of(revision.begin(), revision.end(), [&event](const pb::Event& other) {
    return other.type() == pb::Event::DELETE && other.kv().key() == event.kv().key();
  });
}

}  // namespace

WatchId EtcdModel::Watch(int member, const pb::WatchCreateRequest& request,
                         std::function<void(pb::WatchResponse)> send) {
  BATON_CHECK(request.filters_size() == 0);
  const WatchId id = next_watch_++;
  Member& state = members_[Index(member)];
  WatchState& watch = watches_[id];
  watch.member = member;
  watch.begin = request.key();
  watch.end = request.range_end();
  watch.next = request.start_revision() > 0 ? request.start_revision() : state.revision + 1;
  watch.start = request.start_revision();
  watch.synced = watch.next > state.revision;
  watch.notify = request.progress_notify();
  watch.previous = request.prev_kv();
  watch.said = world_.now();
  watch.send = std::move(send);
  Serve(member, Phase::kWatching, [this, id] {
    const auto found = watches_.find(id);
    if (found == watches_.end()) return;
    pb::WatchResponse created;
    created.set_created(true);
    Tell(found->second, std::move(created));
    Sync(found->second.member);
  });
  return id;
}

// Versions differ in when they answer (Dialect). What they don't answer they forget.
void EtcdModel::Progress(WatchId id) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return;
  Serve(found->second.member, Phase::kWatching, [this, id] {
    const auto asked = watches_.find(id);
    if (asked == watches_.end()) return;
    const WatchState& watch = asked->second;
    const bool begun = watch.start <= members_[Index(watch.member)].revision;
    if (!watch.synced && !options_.dialect.progress_while_behind) return;
    if (!begun && !options_.dialect.progress_before_start) return;
    pb::WatchResponse progress;
    progress.set_watch_id(-1);
    Tell(asked->second, std::move(progress));
  });
}

void EtcdModel::Tell(WatchState& watch, pb::WatchResponse response) {
  if (watch.silent) return world_.Hit(Fault::kWatchSilent, Phase::kWatching);
  // A cancellation's header has no revision.
  const std::int64_t revision = response.canceled() ? 0 : members_[Index(watch.member)].revision;
  *response.mutable_header() = Header(watch.member, revision);
  watch.said = world_.now();
  served_.events += static_cast<std::uint64_t>(response.events_size());
  watch.send(std::move(response));
}

// Serves a member's new revision to the watches that have caught up with it.
void EtcdModel::ServeWatches(int member) {
  for (auto& [id, watch] : watches_) {
    if (watch.member == member && watch.synced) Send(watch);
  }
}

// Sends changes from `next` on that the member has applied, in one message: all of them to a watch
// that has caught up, else those of options_.watch_batch revisions. The message's header has the
// member's revision all the same. Afterwards `next` is the first revision that it may still owe.
void EtcdModel::Send(WatchState& watch) {
  const std::int64_t applied = members_[Index(watch.member)].revision;
  const bool loses = lose_deletions_ && !watch.synced;
  int revisions = 0;
  pb::WatchResponse response;
  for (; watch.next <= applied; ++watch.next) {
    bool counted = false;
    for (const pb::Event& event : store_.EventsOf(watch.next)) {
      if (!InRange(event.kv().key(), watch.begin, watch.end)) continue;
      if (!std::exchange(counted, true) && ++revisions > options_.watch_batch && !watch.synced) {
        return Tell(watch, std::move(response));
      }
      const bool compacted = watch.next <= store_.compacted();
      if (loses && compacted && !OutlivesCompaction(event, store_.EventsOf(watch.next))) {
        world_.Hit(Fault::kDeletionLost, Phase::kWatching);
        continue;
      }
      *response.add_events() = event;
      if (watch.previous) AddPrevious(*response.mutable_events()->rbegin());
    }
  }
  if (response.events_size() > 0) Tell(watch, std::move(response));
}

// Adds the previous value, unless it was compacted. A creation has none, even if the same
// transaction deleted the key before.
void EtcdModel::AddPrevious(pb::Event& event) const {
  const bool put = event.type() == pb::Event::PUT;
  if (put && event.kv().create_revision() == event.kv().mod_revision()) return;
  pb::RangeRequest before;
  before.set_key(event.kv().key());
  before.set_revision(event.kv().mod_revision() - 1);
  pb::RangeResponse found;
  const Failure failure = store_.Range(before, store_.revision(), found);
  if (failure.none() && found.kvs_size() > 0) *event.mutable_prev_kv() = found.kvs(0);
}

// A member that is cut off from the others serves what it has.
void EtcdModel::Sync(int member) {
  Member& state = members_[Index(member)];
  const bool behind = std::any_of(watches_.begin(), watches_.end(), [&](const auto& entry) {
    return entry.second.member == member && !entry.second.synced;
  });
  if (state.syncing || !behind || !state.up || state.frozen) return;
  state.syncing = true;
  world_.After(random_.Between(Duration{1}, kSyncEvery), [this, member] {
    Member& served = members_[Index(member)];
    served.syncing = false;
    if (!served.up || served.frozen) return;
    std::vector<WatchId> unsynced;
    for (const auto& [id, watch] : watches_) {
      if (watch.member == member && !watch.synced) unsynced.push_back(id);
    }
    for (const WatchId id : unsynced) SyncOne(watches_.at(id));
    std::erase_if(watches_, [](const auto& entry) { return entry.second.send == nullptr; });
    Sync(member);
  });
}

void EtcdModel::SyncOne(WatchState& watch) {
  if (watch.next < store_.compacted()) {
    world_.Hit(Fault::kWatchCompacted, Phase::kWatching);
    pb::WatchResponse cancelled;
    cancelled.set_canceled(true);
    cancelled.set_compact_revision(store_.compacted());
    Tell(watch, std::move(cancelled));
    watch.send = nullptr;
    return;
  }
  Send(watch);
  watch.synced = watch.next > members_[Index(watch.member)].revision;
}

void EtcdModel::NotifyProgress() {
  world_.After(options_.progress_interval / 2, [this] { NotifyProgress(); });
  for (auto& [id, watch] : watches_) {
    const bool due = world_.now() >= watch.said + options_.progress_interval;
    if (watch.notify && watch.synced && due && Connected(watch.member)) Tell(watch, {});
  }
}

void EtcdModel::Silence(int member) {
  BATON_CHECK(options_.personality == Personality::k3423);
  for (auto& [id, watch] : watches_) {
    if (watch.member != member || watch.silent) continue;
    watch.silent = true;
    return;
  }
}

void EtcdModel::Repeat(int member, std::int64_t revisions) {
  BATON_CHECK(options_.personality == Personality::k3423);
  for (auto& [id, watch] : watches_) {
    if (watch.member != member || !watch.synced) continue;
    const std::int64_t back =
        std::max({watch.next - revisions, store_.compacted(), std::int64_t{1}});
    if (back >= watch.next) continue;
    watch.next = back;
    world_.Hit(Fault::kEventsRepeated, Phase::kWatching);
  }
}

}  // namespace baton::sim
