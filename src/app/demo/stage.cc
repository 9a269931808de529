#include "app/demo/stage.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "app/ctl/client.h"
#include "app/ctl/interrupt.h"
#include "app/ctl/tables.h"
#include "base/check.h"

namespace baton::app {
namespace {

using std::chrono::milliseconds;

constexpr std::chrono::microseconds kCloseLook{250};
constexpr milliseconds kWorkBeforeWrite{400};
constexpr int kStopAttempts = 5;

}  // namespace

void DemoStage::Claim(DemoClaim claim) {
  if (claim.next.empty()) claim.next = LogsAdvice();
  report_.Claim(claim);
}

void DemoStage::ClaimTakenOver(const Start& before, NodeIndex gone, std::uint32_t led, bool done) {
  ShowNodes();
  Claim({.holds = done && Balanced(),
         .claim = "others lead its shards, balanced on arrival",
         .measured = CountsWord()});
  ClaimFewest(before, led, [=](const SeenChange& change) { return change.from == gone; });
}

void DemoStage::ClaimFewest(const Start& before, std::uint32_t fewest,
                            const std::function<bool(const SeenChange&)>& expected) {
  const auto changes = observer().Changes(before.changes);
  std::set<ShardId> moved;
  std::size_t strays = 0;
  for (const SeenChange& change : changes) {
    const bool again = !moved.insert(change.shard).second;
    if (again || !expected(change)) ++strays;
  }
  Claim({.holds = moved.size() == fewest && strays == 0,
         .claim = fmt::format("the fewest moves ({}), nothing else moved", Grouped(fewest)),
         .measured = fmt::format("{} shards moved, {} needlessly", Grouped(moved.size()),
                                 Grouped(strays))});
}

void DemoStage::ClaimPlannedGaps(const Start& before) {
  ClaimGaps("leaderless in a planned move", before,
            [](const SeenChange& change) { return change.gap(); });
  report_.Note("seen to within " + TimeWord(observer().Resolution()));
}

void DemoStage::ClaimGaps(const std::string& claim, const Start& before,
                          const std::function<Duration(const SeenChange&)>& gap, Duration bound) {
  std::vector<Duration> gaps;
  for (const SeenChange& change : observer().Changes(before.changes)) {
    gaps.push_back(gap(change));
  }
  if (gaps.empty()) return;
  const Percentiles found = PercentilesOf(gaps);
  // The gap begins when this process saw the deletion, which may be later than the successors saw
  // it.
  if (found.max < Duration::zero()) {
    return report_.Note(fmt::format("{}: all were led again {} before this process saw it", claim,
                                    TimeWord(-found.max)));
  }
  Claim({.holds = found.max <= bound,
         .claim = claim,
         .measured =
             fmt::format("p50 {}, p99 {}, max {}", TimeWord(std::max(found.p50, Duration::zero())),
                         TimeWord(std::max(found.p99, Duration::zero())), TimeWord(found.max)),
         .next = SlowAdvice()});
}

void DemoStage::ClaimInTime(const std::string& claim, Duration took) {
  Claim(
      {.holds = took <= Bound(), .claim = claim, .measured = TimeWord(took), .next = SlowAdvice()});
}

void DemoStage::ClaimSafe() {
  const SeenViolations seen = observer().Violations();
  const std::uint64_t samples = observer().Samples();
  const std::uint64_t more = seen.count - violations_;
  Claim({.holds = more == 0,
         .claim = "never two leaders of a shard, terms only grew",
         .measured = fmt::format("{} violations in {} samples", Grouped(more),
                                 Grouped(samples - samples_))});
  std::uint64_t named = violations_;
  for (; named < seen.lines.size(); ++named) report_.Note(seen.lines[named]);
  if (named < seen.count) report_.Note(fmt::format("and {} more", Grouped(seen.count - named)));
  violations_ = seen.count;
  samples_ = samples;
  ClaimRecorded();
}

void DemoStage::ClaimRecorded() {
  const auto records = cluster_->ReadRecords();
  if (!records) throw DemoAbort{records.error()};
  const auto shards = observer().Shards();
  std::size_t differ = 0;
  for (std::uint32_t i = 0; i < shards.size(); ++i) {
    const auto found = records.value().find(ShardId{i});
    const bool same = found != records.value().end() && shards[i].leader != kNobody &&
                      found->second.leader == cluster_->name(shards[i].leader) &&
                      found->second.term() == shards[i].term;
    if (!same) ++differ;
  }
  Claim({.holds = differ == 0,
         .claim = "etcd's records name the same leaders",
         .measured = fmt::format("{} of {} differ", Grouped(differ), Grouped(shards.size()))});
}

void DemoStage::ClaimSilent(NodeIndex node, std::uint64_t sweeps_before, TimePoint woken) {
  const auto& board = cluster_->board(node);
  const std::uint64_t sweeps = board.sweeps.load();
  std::uint64_t asked = 0;
  std::uint64_t led = 0;
  Duration first{0};
  Duration longest{0};
  TimePoint last = woken;
  for (std::uint64_t i = std::max(sweeps_before, OldestNote(sweeps)); i < sweeps; ++i) {
    const SweepNote& note = board.notes[i % DemoBoard::kNotes];
    const TimePoint begun{Duration(note.begun)};
    if (begun < woken || begun > woken + kAskedAfterWake) continue;
    if (asked++ == 0)
      first = begun - woken;
    else
      longest = std::max(longest, begun - last);
    last = begun;
    led += note.old;
  }
  Claim({.holds = asked > 0 && led == 0,
         .claim = "woken, it never says that it leads",
         .measured = fmt::format("asked {} x in 1 s, first after {}: {} x yes", Grouped(asked),
                                 TimeWord(first), Grouped(led))});
  report_.Note("asked each time about all its shards; longest pause between two times " +
               TimeWord(longest));
}

NodeIndex DemoStage::StartNode(std::uint32_t expect_nodes) {
  auto node = cluster_->StartNode(expect_nodes);
  if (!node) throw DemoAbort{node.error()};
  auto& board = cluster_->board(node.value());
  board.pause.store(std::chrono::nanoseconds(kCloseLook).count());
  if (!WaitUntil(kPatience, [&] { return board.state.load() == BoardState::kServing; })) {
    throw DemoAbort{
        {ErrorCode::kTimedOut, cluster_->name(node.value()) + " did not start in time"}};
  }
  return node.value();
}

void DemoStage::AskWrite(NodeIndex node, ShardId shard, Duration work) {
  auto& board = cluster_->board(node);
  board.write_shard.store(shard.value);
  board.write_work.store(work.count());
  board.write_state.store(WriteState::kAsked);
}

bool DemoStage::WriteEnded(WriteState state) {
  return state == WriteState::kNotLeader || state > WriteState::kSent;
}

WriteState DemoStage::WriteNow(NodeIndex node, ShardId shard) {
  AskWrite(node, shard, Duration::zero());
  auto& board = cluster_->board(node);
  WaitUntil(kPatience, [&] { return WriteEnded(board.write_state.load()); });
  return board.write_state.load();
}

void DemoStage::StopAfterDecision(NodeIndex node, ShardId shard) {
  auto& board = cluster_->board(node);
  for (int attempt = 0; attempt < kStopAttempts; ++attempt) {
    AskWrite(node, shard, kWorkBeforeWrite);
    WaitUntil(kPatience, [&] { return board.write_state.load() >= WriteState::kNotLeader; });
    board.old_term.store(HighestTerm());
    cluster_->Stop(node);
    if (board.write_state.load() == WriteState::kDecided) return;
    // The machine was too busy, and the write was sent before the stop: try again.
    cluster_->Wake(node);
    WaitUntil(kPatience, [&] { return WriteEnded(board.write_state.load()) && AllLed(); });
  }
  throw DemoAbort{
      {ErrorCode::kTimedOut,
       fmt::format("could not stop {} between a decision and its write", cluster_->name(node))}};
}

void DemoStage::Nap(milliseconds duration) const {
  if (!Interrupt::Sleep(duration)) throw DemoAbort{{ErrorCode::kInternal, "interrupted"}};
}

bool DemoStage::WaitUntil(milliseconds patience, const std::function<bool()>& condition) {
  const TimePoint deadline = BootClock::now() + patience;
  while (!condition()) {
    if (BootClock::now() >= deadline) return false;
    if (const std::string trouble = cluster_->Trouble(); !trouble.empty()) {
      throw DemoAbort{{ErrorCode::kFailedPrecondition, trouble}};
    }
    Nap(kPoll);
  }
  return true;
}

bool DemoStage::WaitLed(milliseconds patience) {
  return WaitUntil(patience, [&] { return AllLed(); });
}

bool DemoStage::WaitBalanced(milliseconds patience) {
  return WaitUntil(patience, [&] { return AllLed() && Balanced(); });
}

std::uint32_t DemoStage::ShareOfNewcomer() const {
  std::uint32_t nodes = 0;
  for (NodeIndex node = 0; node < cluster_->size(); ++node) nodes += TakesPart(node) ? 1 : 0;
  BATON_CHECK(nodes > 0);
  return options_.shards / nodes;
}

bool DemoStage::TakesPart(NodeIndex node) const {
  return cluster_->running(node) && !cluster_->stopped(node) && node != drained_;
}

bool DemoStage::Balanced() const {
  std::uint32_t least = UINT32_MAX;
  std::uint32_t most = 0;
  const auto counts = observer().Counts();
  for (NodeIndex node = 0; node < counts.size(); ++node) {
    if (!TakesPart(node)) continue;
    least = std::min(least, counts[node]);
    most = std::max(most, counts[node]);
  }
  return most <= least + 1;
}

std::int64_t DemoStage::HighestTerm() const {
  std::int64_t highest = 0;
  for (const SeenShard& shard : observer().Shards()) {
    highest = std::max(highest, shard.term.value);
  }
  return highest;
}

ShardId DemoStage::AnyShardOf(NodeIndex node) const {
  const auto shards = observer().Shards();
  const auto found = std::find_if(shards.begin(), shards.end(),
                                  [node](const SeenShard& shard) { return shard.leader == node; });
  if (found == shards.end()) {
    throw DemoAbort{{ErrorCode::kInternal, cluster_->name(node) + " leads nothing"}};
  }
  return ShardId{static_cast<std::uint32_t>(found - shards.begin())};
}

TimePoint DemoStage::AwaitMember(NodeIndex node,
                                 std::optional<TimePoint> DemoMembers::Times::*time) {
  const NodeId& name = cluster_->name(node);
  // The watch may see it only after the shards were led.
  if (!WaitUntil(kPatience, [&] { return (cluster_->members().Of(name).*time).has_value(); })) {
    throw DemoAbort{{ErrorCode::kTimedOut,
                     fmt::format("etcd's watch never showed that {} came or went", name)}};
  }
  return *(cluster_->members().Of(name).*time);
}

TimePoint DemoStage::LastJoined() {
  TimePoint last{};
  for (NodeIndex node = 0; node < cluster_->size(); ++node) last = std::max(last, Joined(node));
  return last;
}

TimePoint DemoStage::LastChange(const Start& before, TimePoint otherwise) const {
  const auto changes = observer().Changes(before.changes);
  return changes.empty() ? otherwise : changes.back().led;
}

std::string DemoStage::Took(const Start& before, NodeIndex newcomer) {
  const TimePoint joined = Joined(newcomer);
  return TimeWord(LastChange(before, joined) - joined) + " from its joining";
}

void DemoStage::ShowNodes() {
  for (NodeIndex node = cluster_->size(); node-- > 0;) {
    if (!cluster_->running(node) || cluster_->stopped(node)) continue;
    AdminClient client(cluster_->endpoint(node), cluster_->tls());
    const auto answer = client.GetStatus(false, BootClock::now() + kPatience);
    if (!answer) throw DemoAbort{answer.error()};
    return report_.Show(NodesTable(answer.value().status, false));
  }
}

std::string DemoStage::CountsWord() const {
  const auto counts = observer().Counts();
  std::string words;
  for (NodeIndex node = 0; node < counts.size(); ++node) {
    if (!cluster_->running(node) || cluster_->stopped(node)) continue;
    if (!words.empty()) words += "/";
    words += std::to_string(counts[node]);
  }
  const std::uint32_t leaderless = observer().Leaderless();
  return leaderless == 0 ? words : fmt::format("{}, {} leaderless", words, Grouped(leaderless));
}

std::string DemoStage::WriteWord(WriteState state) {
  switch (state) {
    case WriteState::kAccepted: return "accepted";
    case WriteState::kRefused: return "refused";
    case WriteState::kNotLeader: return "not decided: the node did not lead";
    default: return "no definite answer";
  }
}

std::string DemoStage::Pids(const std::vector<pid_t>& pids) {
  return std::accumulate(
      pids.begin(), pids.end(), std::string(),
      [](const std::string& words, pid_t pid) { return words + " " + std::to_string(pid); });
}

std::uint64_t DemoStage::OldestNote(std::uint64_t sweeps) {
  return sweeps > DemoBoard::kNotes ? sweeps - DemoBoard::kNotes : 0;
}

std::string DemoStage::LogsAdvice() const {
  return cluster_ ? "look at the logs in " + cluster_->folder() : "run it again";
}

std::string DemoStage::SlowAdvice() const {
  return fmt::format(
      "run it on a less busy machine, or with a longer --ttl; above {} (TTL + 3 s) counts as "
      "failed",
      TimeWord(Bound()));
}

}  // namespace baton::app
