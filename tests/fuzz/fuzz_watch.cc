// watch: answers of etcd's reads and watches (RangeResponse, WatchResponse), in any order and with
// failures between them, through the watch cursor.
//
// Must hold: deliveries only go forward: each revision comes once, whole, and after the snapshot's.
// A watch begins at the end of the last delivery. At most one read and one watch are in flight.
#include <algorithm>
#include <deque>
#include <functional>

#include "etcd/fake_transport.h"
#include "etcd/watch_cursor.h"
#include "fuzz/targets.h"

namespace baton::fuzz {
namespace {

using etcd::testing::FakeTransport;
using etcdserverpb::RangeResponse;
using etcdserverpb::WatchResponse;

constexpr std::size_t kMaxSteps = 64;

class Trial {
 public:
  Trial() { cursor_.Start(); }

  void Step(Input& input) {
    switch (input.Choice(8)) {
      case 0: AnswerRead(input.Part()); break;
      case 1: Say(input.Part()); break;
      case 2: FailRead(input.Choice(2) == 0); break;
      case 3: EndWatch(); break;
      case 4: cursor_.Reopen(); break;
      case 5: cursor_.Audit(); break;
      case 6: RunDelayed(); break;
      default: RunPosted(); break;
    }
    MustWatchOn();
    Must(transport_.ranges.size() <= 2, "reads under way are bounded");
  }

 private:
  void AnswerRead(std::string_view bytes) {
    RangeResponse response;
    if (transport_.ranges.empty() ||
        !response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return;
    }
    transport_.TakeRange().Answer(std::move(response));
    RunPosted();
  }

  void FailRead(bool unknown) {
    if (transport_.ranges.empty()) return;
    transport_.TakeRange().Fail(unknown ? etcd::testing::Unknown()
                                        : etcd::testing::RefusedBecause("compacted"));
    RunPosted();
  }

  // Runs later, since messages may wait for the loop.
  void Say(std::string_view bytes) {
    WatchResponse response;
    if (transport_.watches.empty() || !transport_.watches.back()->open ||
        !response.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      return;
    }
    transport_.watches.back()->handler.response(response);
  }

  void EndWatch() {
    if (transport_.watches.empty() || !transport_.watches.back()->open) return;
    transport_.watches.back()->handler.ended(etcd::testing::Unknown());
    RunPosted();
  }

  void RunPosted() {
    while (!posted_.empty()) {
      const auto task = std::move(posted_.front());
      posted_.pop_front();
      task();
      MustWatchOn();
    }
  }

  void RunDelayed() {
    if (delayed_.empty()) return;
    const auto task = std::move(delayed_.front());
    delayed_.pop_front();
    task();
    MustWatchOn();
    RunPosted();
  }

  void MustWatchOn() {
    std::size_t open = 0;
    for (const auto& watch : transport_.watches) open += watch->open ? 1 : 0;
    Must(open <= 1, "one watch is open at most");
    if (transport_.watches.size() == watches_) return;
    watches_ = transport_.watches.size();
    const std::int64_t start = transport_.watches.back()->request.start_revision();
    Must(start == cursor_.applied().value + 1, "a watch begins after what was delivered",
         std::to_string(start));
  }

  void TakeSnapshot(const Snapshot& snapshot) {
    Must(snapshot.revision.value > 0, "a snapshot has a revision");
    delivered_ = std::max(delivered_, cursor_.applied().value);
    Must(cursor_.applied().value >= delivered_, "the place never goes back");
  }

  void TakeChanges(const Changes& changes) {
    Must(changes.revision.value > delivered_, "a revision is delivered once",
         std::to_string(changes.revision.value));
    delivered_ = changes.revision.value;
  }

  static etcd::WatchCursorOptions Options() {
    etcd::WatchCursorOptions options;
    options.page_limit = 2;
    options.max_pending_messages = 3;
    return options;
  }

  etcd::WatchCursorHandler Handler() {
    return {
        .snapshot = [this](const Snapshot& snapshot, std::uint64_t) { TakeSnapshot(snapshot); },
        .changes = [this](const Changes& changes, std::uint64_t) { TakeChanges(changes); },
        .delivered = [](Revision) {},
        .trouble =
            [](const std::string& detail) { Must(!detail.empty(), "trouble is put into words"); }};
  }

  std::deque<std::function<void()>> posted_;
  std::deque<std::function<void()>> delayed_;
  FakeTransport transport_;
  std::int64_t delivered_ = 0;
  std::size_t watches_ = 0;
  etcd::WatchCursor cursor_{
      transport_,
      etcd::Keyspace(etcd::kDefaultPrefix, "orders"),
      {.post = [this](std::function<void()> task) { posted_.push_back(std::move(task)); },
       .schedule = [this](Duration,
                          std::function<void()> task) { delayed_.push_back(std::move(task)); }},
      Options(),
      Handler()};
};

RangeResponse Page(std::int64_t revision, bool more) {
  RangeResponse page;
  page.mutable_header()->set_revision(revision);
  auto& stored = *page.add_kvs();
  stored.set_key("/baton/v1/orders/shards/1");
  stored.set_mod_revision(revision - 1);
  page.set_more(more);
  return page;
}

WatchResponse Event(std::int64_t revision) {
  WatchResponse message;
  message.mutable_header()->set_revision(revision);
  auto& stored = *message.add_events()->mutable_kv();
  stored.set_key("/baton/v1/orders/shards/1");
  stored.set_mod_revision(revision);
  return message;
}

}  // namespace

void RunWatch(std::string_view bytes) {
  Input input(bytes);
  Trial trial;
  for (std::size_t i = 0; i < kMaxSteps && !input.empty(); ++i) trial.Step(input);
}

std::vector<Seed> WatchSeeds() {
  const auto read = [](const RangeResponse& page) {
    return std::string(1, '\0') + PartBytes(page.SerializeAsString());
  };
  const auto say = [](const WatchResponse& message) {
    return std::string(1, '\1') + PartBytes(message.SerializeAsString());
  };
  WatchResponse compacted;
  compacted.set_canceled(true);
  compacted.set_compact_revision(950);
  const std::string run = "\7";
  return {{"snapshot", read(Page(900, false)) + say(Event(901)) + run},
          {"pages", read(Page(900, true)) + read(Page(900, false)) + say(Event(901)) + run},
          {"repeated", read(Page(900, false)) + say(Event(901)) + say(Event(901)) + run},
          {"compacted", read(Page(900, false)) + say(compacted) + run + read(Page(960, false))},
          {"ended", read(Page(900, false)) + "\3\6" + say(Event(901)) + run},
          {"audit", read(Page(900, false)) + "\5" + say(Event(905)) + run + read(Page(903, false))},
          {"overflow", read(Page(900, false)) + say(Event(901)) + say(Event(902)) +
                           say(Event(903)) + say(Event(904)) + say(Event(905)) + run}};
}

}  // namespace baton::fuzz
