#include "app/ctl/top_frame.h"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include <fmt/format.h>

#include "app/ctl/table.h"
#include "app/ctl/tables.h"
#include "app/ctl/top_grid.h"
#include "http/status_json.h"

namespace baton::app {
namespace {

using runtime::MemberStatus;
using runtime::NodeStatus;
using runtime::ShardStatus;

constexpr int kSmallestWidth = 30;
constexpr int kSmallestHeight = 8;
constexpr int kBarColumns = 20;
constexpr int kLeaseColumns = 8;

std::string Repeat(const std::string& glyph, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += glyph;
  return text;
}

std::string Padded(std::string text, int columns) {
  text.append(static_cast<std::size_t>(std::max(0, columns - Columns(text))), ' ');
  return text;
}

/// The first `columns` of a text, in whole glyphs.
std::string Cut(const std::string& text, int columns) {
  int seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts = (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80;
    if (starts && seen++ == columns) return text.substr(0, i);
  }
  return text;
}

Line Clipped(const Line& line, int width) {
  Line clipped;
  int left = width;
  for (const Span& span : line) {
    if (left <= 0) break;
    clipped.push_back({Cut(Printable(span.text), left), span.ink, span.node});
    left -= Columns(clipped.back().text);
  }
  return clipped;
}

/// A bar: full cells, then half-shaded cells up to `ghost`, then blanks.
std::string Bar(std::int64_t full, std::int64_t ghost, std::int64_t scale, int columns,
                bool ascii) {
  const auto cells = [&](std::int64_t value) {
    return static_cast<int>(
        std::clamp<std::int64_t>((value * columns + scale - 1) / scale, 0, columns));
  };
  const int filled = cells(full);
  const int shaded = std::max(0, cells(ghost) - filled);
  return Repeat(ascii ? "#" : "█", filled) + Repeat(ascii ? "." : "░", shaded) +
         std::string(static_cast<std::size_t>(columns - filled - shaded), ' ');
}

Line HeaderLine(const NodeStatus& status) {
  Line line{{" " + status.group + " ", Ink::kTitle},
            {fmt::format("  {}, {}   balance ", CountOf(status.shard_count, "shard"),
                         CountOf(LiveNodes(status), "node"))},
            {BalanceWord(status), status.paused ? Ink::kWarning : Ink::kPlain}};
  if (!status.balancer.empty()) line.push_back({" by " + status.balancer});
  line.push_back({"   revision " + std::to_string(status.revision.value), Ink::kDim});
  if (status.braking) line.push_back({"   BRAKE", Ink::kBad});
  return line;
}

Line HealthLine(const NodeStatus& status, const TopView& view) {
  const std::string unhealthy = Unhealthy(status);
  const std::string dot = view.ascii ? " * " : " ● ";
  return {unhealthy.empty() ? Span{dot + "healthy", Ink::kGood} : Span{dot + unhealthy, Ink::kBad},
          {fmt::format("   seen from {}, session {}, view {} old", status.node,
                       runtime::ToString(status.session), AgeWord(status.view_age)),
           Ink::kDim}};
}

/// The group's health, or what is wrong with the status itself.
Line NoticeLine(const NodeStatus* status, const TopView& view) {
  const std::string age =
      status == nullptr ? "" : fmt::format("; shown as of {} ago", AgeWord(view.age));
  if (view.paused) return {{fmt::format(" paused{} (p resumes)", age), Ink::kWarning}};
  if (!view.problem.empty()) {
    return {{fmt::format(" trying again{}: {}", age, view.problem), Ink::kBad}};
  }
  if (status == nullptr) return {{" waiting for the first answer", Ink::kDim}};
  return HealthLine(*status, view);
}

/// "shard 57" or "shards 3, 10-12 and 5 more".
std::string NumbersOf(const std::vector<const ShardStatus*>& shards) {
  constexpr std::size_t kMaxRanges = 6;
  std::string text = shards.size() == 1 ? "shard " : "shards ";
  std::size_t ranges = 0;
  for (std::size_t i = 0; i < shards.size();) {
    if (ranges++ == kMaxRanges) return fmt::format("{} and {} more", text, shards.size() - i);
    std::size_t last = i;
    while (last + 1 < shards.size() &&
           shards[last + 1]->shard.value == shards[last]->shard.value + 1) {
      ++last;
    }
    if (i > 0) text += ", ";
    text += std::to_string(shards[i]->shard.value);
    if (last > i) text += "-" + std::to_string(shards[last]->shard.value);
    i = last + 1;
  }
  return text;
}

/// The nodes' names, each once. Empty names are left out.
std::string NamesOf(const std::vector<const ShardStatus*>& shards,
                    const std::function<NodeId(const ShardStatus&)>& name) {
  constexpr std::size_t kMaxNames = 3;
  std::set<NodeId> names;
  for (const ShardStatus* shard : shards) names.insert(name(*shard));
  names.erase(NodeId{});
  std::string text;
  std::size_t named = 0;
  for (const NodeId& node : names) {
    if (named++ == kMaxNames) return text + ", ...";
    text += (text.empty() ? "" : ", ") + node;
  }
  return text;
}

/// A line for each kind of trouble: which shards, and which nodes to look at.
std::vector<Line> TroubleLines(const NodeStatus& status, bool ascii) {
  std::vector<const ShardStatus*> unreadable, leaderless, waiting, suspended, cold;
  for (const ShardStatus& shard : status.shards) {
    if (shard.without_ready_standby) cold.push_back(&shard);
    if (shard.quarantined) {
      unreadable.push_back(&shard);
    } else if (shard.state == ShardState::kLeaderless) {
      (shard.claims_wait.count() > 0 ? waiting : leaderless).push_back(&shard);
    } else if (shard.state == ShardState::kSuspended) {
      suspended.push_back(&shard);
    }
  }
  const std::string mark = ascii ? " ? " : " × ";
  std::vector<Line> lines;
  if (!unreadable.empty()) {
    lines.push_back({{mark + NumbersOf(unreadable), Ink::kBad},
                     {": record damaged or of a newer version, the nodes' logs say which"}});
  }
  if (!leaderless.empty()) {
    const auto previous = [](const ShardStatus& shard) { return shard.previous; };
    const std::string names = NamesOf(leaderless, previous);
    lines.push_back({{mark + NumbersOf(leaderless), Ink::kBad},
                     {": no leader" + (names.empty() ? "" : ", last led by " + names)}});
  }
  if (!waiting.empty()) {
    lines.push_back({{mark + NumbersOf(waiting), Ink::kBad},
                     {": no leader yet, because several in a row died soon"}});
  }
  if (!suspended.empty()) {
    const auto leader = [](const ShardStatus& shard) { return shard.leader; };
    lines.push_back(
        {{" ! " + NumbersOf(suspended), Ink::kWarning},
         {fmt::format(": suspended, {} has no confirmed lease", NamesOf(suspended, leader))}});
  }
  if (!cold.empty()) {
    lines.push_back({{" ! " + NumbersOf(cold), Ink::kWarning}, {": no ready standby"}});
  }
  return lines;
}

/// How much of the lease is left. That is known of the node that answers only; for others it shows
/// how long their leases are.
Span LeaseSpan(const NodeStatus& status, const MemberStatus& member, bool ascii) {
  if (member.fact.node != status.node || status.ttl.count() == 0) {
    return {"lease " + AgeWord(member.fact.ttl), Ink::kDim};
  }
  // A false server tells times of up to 73 years; in milliseconds their multiples fit, too.
  using std::chrono::milliseconds;
  const milliseconds ttl = status.ttl;
  const auto age = std::chrono::duration_cast<milliseconds>(status.renewal_age);
  const milliseconds left = std::max(milliseconds(0), ttl - age);
  const Ink ink = left * 3 > ttl ? Ink::kGood : left * 6 > ttl ? Ink::kWarning : Ink::kBad;
  return {fmt::format("lease {} renewed {} ago",
                      Bar(left.count(), ttl.count(), ttl.count(), kLeaseColumns, ascii),
                      AgeWord(status.renewal_age)),
          ink};
}

Ink InkOf(const MemberStatus& member) {
  if (!member.fact.Live()) return Ink::kBad;
  return MemberWord(member) == "active" ? Ink::kPlain : Ink::kWarning;
}

struct NodeColumns {
  int name = 4;
  int count = 3;
  std::int64_t scale = 1;
};

NodeColumns MeasureNodes(const NodeStatus& status) {
  NodeColumns columns;
  for (const MemberStatus& member : status.members) {
    columns.name = std::max(columns.name, Columns(member.fact.node));
    columns.scale = std::max<std::int64_t>({columns.scale, member.led, member.told_target});
    const std::string count = fmt::format("{}/{}", member.led, member.told_target);
    columns.count = std::max(columns.count, Columns(count));
  }
  columns.name = std::min(columns.name, 24);
  return columns;
}

Line NodeLine(const NodeStatus& status, const MemberStatus& member, int place,
              const NodeColumns& columns, const TopView& view) {
  return {
      {" "},
      {std::string(1, NodeInks::LetterOf(place)), Ink::kNode, place},
      {" " + Padded(Cut(member.fact.node, columns.name), columns.name) + " "},
      {Bar(member.led, member.told_target, columns.scale, kBarColumns, view.ascii), Ink::kNode,
       place},
      {" " + Padded(fmt::format("{}/{}", member.led, member.told_target), columns.count) + "  "},
      {Padded(MemberWord(member), 9), InkOf(member)},
      LeaseSpan(status, member, view.ascii)};
}

std::string Range(int first, int shown, int all) {
  if (shown >= all) return "";
  return fmt::format("  {}-{} of {}", first + 1, first + shown, all);
}

void AddNodes(const NodeStatus& status, const TopView& view, int rows, Frame* frame) {
  const int all = static_cast<int>(status.members.size());
  const int first = std::clamp(view.node_scroll, 0, std::max(0, all - rows));
  const int shown = std::min(rows, all - first);
  frame->node_scroll = first;
  frame->lines.push_back({{" NODES", Ink::kTitle}, {Range(first, shown, all), Ink::kDim}});
  const NodeColumns columns = MeasureNodes(status);
  for (int i = first; i < first + shown; ++i) {
    const auto& member = status.members[static_cast<std::size_t>(i)];
    frame->lines.push_back(NodeLine(status, member, i, columns, view));
  }
}

void AddShards(const NodeStatus& status, const TopView& view, int rows, Frame* frame) {
  const Grid grid = BuildGrid(status, NodeInks(status), view, rows);
  frame->shard_scroll = grid.first_row;
  std::string legend = "  by leader   + activating  ";
  legend +=
      view.ascii ? "> moving  ! suspended  ? leaderless" : "» moving  ! suspended  × leaderless";
  const std::string packed =
      grid.shards_per_cell == 1 ? "" : fmt::format("  {} per cell", grid.shards_per_cell);
  const int shown = static_cast<int>(grid.rows.size());
  frame->lines.push_back({{" SHARDS", Ink::kTitle},
                          {packed + (grid.rows_in_all > shown ? "  rows" : "") +
                               Range(grid.first_row, shown, grid.rows_in_all),
                           Ink::kDim},
                          {legend, Ink::kDim}});
  frame->lines.insert(frame->lines.end(), grid.rows.begin(), grid.rows.end());
}

Line TransitionLine(const Transition& transition, bool ascii) {
  const auto name = [](const NodeId& node) { return node.empty() ? std::string("nobody") : node; };
  const bool lost = transition.to.empty();
  return {{" " + Padded("shard " + std::to_string(transition.shard.value), 13)},
          {Padded(name(transition.from) + (ascii ? " -> " : " → ") + name(transition.to), 22)},
          {Padded(ToString(transition.reason), 18), lost ? Ink::kBad : Ink::kPlain},
          {"term " + Padded(std::to_string(transition.term.value), 10), Ink::kDim},
          {"gap " + GapWord(transition, runtime::GapOf(transition))}};
}

void AddTransitions(const NodeStatus& status, const TopView& view, int rows, Frame* frame) {
  frame->lines.push_back({{" LAST CHANGES", Ink::kTitle}});
  if (status.recent.empty()) frame->lines.push_back({{" none seen by this node", Ink::kDim}});
  int left = rows;
  for (auto it = status.recent.rbegin(); it != status.recent.rend() && left > 0; ++it, --left) {
    frame->lines.push_back(TransitionLine(*it, view.ascii));
  }
}

/// How the sections share the lines between header and footer.
struct Share {
  int nodes = 1;
  int shards = 1;
  int transitions = 0;  ///< 0: the section is left out
};

Share ShareOut(const NodeStatus& status, const TopView& view, int trouble) {
  const int room = view.height - 3 - 2 - trouble;  // header and footer; two sections' titles
  Share share;
  share.nodes = std::clamp(static_cast<int>(status.members.size()), 1, std::max(1, room / 3));
  const int rest = room - share.nodes;
  if (rest >= 6) {
    const int recent = std::max(1, static_cast<int>(status.recent.size()));
    share.transitions = std::min({recent, rest / 3, 12});
  }
  const int taken = share.transitions == 0 ? 0 : share.transitions + 1;
  share.shards = std::max(1, rest - taken);
  return share;
}

void AddFooter(const TopView& view, Frame* frame) {
  const int body = view.height - 1;
  if (static_cast<int>(frame->lines.size()) > body) {
    frame->lines.resize(static_cast<std::size_t>(body));
  }
  while (static_cast<int>(frame->lines.size()) < body) frame->lines.push_back({});
  frame->lines.push_back({{view.ascii ? " q quit  p pause  up/down shards  left/right nodes"
                                      : " q quit  p pause  ↑↓ shards  ←→ nodes",
                           Ink::kDim}});
}

}  // namespace

int Columns(const std::string& text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
  }));
}

Frame BuildFrame(const NodeStatus* status, const TopView& view) {
  Frame frame;
  if (status != nullptr) frame.lines.push_back(HeaderLine(*status));
  frame.lines.push_back(NoticeLine(status, view));
  const bool small = view.width < kSmallestWidth || view.height < kSmallestHeight;
  if (small) frame.lines.push_back({{" window too small", Ink::kWarning}});
  if (status != nullptr && !small) {
    const std::vector<Line> trouble = TroubleLines(*status, view.ascii);
    frame.lines.insert(frame.lines.end(), trouble.begin(), trouble.end());
    const Share share = ShareOut(*status, view, static_cast<int>(trouble.size()));
    AddNodes(*status, view, share.nodes, &frame);
    AddShards(*status, view, share.shards, &frame);
    if (share.transitions > 0) AddTransitions(*status, view, share.transitions, &frame);
  }
  if (view.height > 1) AddFooter(view, &frame);
  if (static_cast<int>(frame.lines.size()) > view.height) {
    frame.lines.resize(static_cast<std::size_t>(std::max(0, view.height)));
  }
  for (Line& line : frame.lines) line = Clipped(line, view.width);
  return frame;
}

std::string PlainText(const Frame& frame) {
  std::string text;
  for (const Line& line : frame.lines) {
    std::string row;
    for (const Span& span : line) row += span.text;
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text;
}

}  // namespace baton::app
