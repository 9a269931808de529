#include "app/ctl/top_grid.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/check.h"

namespace baton::app {
namespace {

using runtime::NodeStatus;
using runtime::ShardStatus;

/// How urgently a shard needs a look: a cell shows its most urgent shard.
int Urgency(ShardState state) {
  switch (state) {
    case ShardState::kLeaderless: return 4;
    case ShardState::kSuspended: return 3;
    case ShardState::kMoving: return 2;
    case ShardState::kActivating: return 1;
    case ShardState::kLed: return 0;
  }
  return 0;
}

/// The shard that a cell shows: the most urgent one, and among equals one of the leader that leads
/// most of them.
const ShardStatus& Speaker(std::span<const ShardStatus> cell) {
  const ShardStatus* speaker = &cell.front();
  std::ptrdiff_t best = -1;
  for (const ShardStatus& shard : cell) {
    const auto same = std::count_if(cell.begin(), cell.end(), [&](const ShardStatus& other) {
      return other.leader == shard.leader;
    });
    const std::ptrdiff_t rank = Urgency(shard.state) * 1000 + same;
    if (rank > best) {
      best = rank;
      speaker = &shard;
    }
  }
  return *speaker;
}

Span CellSpan(const ShardStatus& shard, const NodeInks& inks, bool ascii) {
  const int place = inks.PlaceOf(shard.leader);
  switch (shard.state) {
    case ShardState::kLeaderless: return {ascii ? "?" : "×", Ink::kBad};
    case ShardState::kSuspended: return {"!", Ink::kWarning};
    case ShardState::kMoving: return {ascii ? ">" : "»", Ink::kNode, place};
    case ShardState::kActivating: return {"+", Ink::kNode, place};
    case ShardState::kLed: break;
  }
  return {std::string(1, NodeInks::LetterOf(place)), Ink::kNode, place};
}

void Append(Span span, Line* line) {
  if (!line->empty() && line->back().ink == span.ink && line->back().node == span.node) {
    line->back().text += span.text;
  } else {
    line->push_back(std::move(span));
  }
}

struct Layout {
  std::size_t label = 1;
  std::size_t columns = 1;  ///< cells in a row
  std::size_t per_cell = 1;
  std::size_t rows = 0;  ///< of the whole grid
};

Layout LayOut(std::size_t shards, int width, int rows) {
  Layout layout;
  layout.label = std::to_string(shards).size() + 2;
  layout.columns = static_cast<std::size_t>(width) - layout.label - 1;
  // Lines begin with round numbers, which are easier to find.
  if (layout.columns >= 20) layout.columns -= layout.columns % 10;
  const std::size_t room = layout.columns * static_cast<std::size_t>(rows);
  layout.per_cell = std::clamp<std::size_t>((shards + room - 1) / room, 1, kMaxShardsPerCell);
  const std::size_t per_row = layout.columns * layout.per_cell;
  layout.rows = (shards + per_row - 1) / per_row;
  return layout;
}

Line BuildRow(const NodeStatus& status, const NodeInks& inks, const Layout& layout, std::size_t row,
              bool ascii) {
  const std::size_t first = row * layout.columns * layout.per_cell;
  std::string label = std::to_string(first);
  label.insert(0, layout.label - 1 - label.size(), ' ');
  Line line{{label + " ", Ink::kDim}};
  const auto& shards = status.shards;
  for (std::size_t column = 0; column < layout.columns; ++column) {
    const std::size_t begin = first + column * layout.per_cell;
    if (begin >= shards.size()) break;
    std::vector<ShardStatus> cell;
    for (std::size_t i = begin; i < std::min(begin + layout.per_cell, shards.size()); ++i) {
      cell.push_back(shards[i]);
    }
    Append(CellSpan(Speaker(cell), inks, ascii), &line);
  }
  return line;
}

}  // namespace

NodeInks::NodeInks(const NodeStatus& status) {
  for (const auto& member : status.members) {
    places_.emplace(member.fact.node, static_cast<int>(places_.size()));
  }
}

int NodeInks::PlaceOf(const NodeId& node) const {
  const auto found = places_.find(node);
  return found == places_.end() ? -1 : found->second;
}

char NodeInks::LetterOf(int place) {
  if (place < 0 || place >= 52) return '#';
  return static_cast<char>(place < 26 ? 'a' + place : 'A' + place - 26);
}

Grid BuildGrid(const NodeStatus& status, const NodeInks& inks, const TopView& view, int rows) {
  BATON_CHECK(rows > 0 && view.width >= 20);
  const Layout layout = LayOut(status.shards.size(), view.width, rows);
  Grid grid;
  grid.shards_per_cell = layout.per_cell;
  grid.rows_in_all = static_cast<int>(layout.rows);
  grid.first_row = std::clamp(view.shard_scroll, 0, std::max(0, grid.rows_in_all - rows));
  const int end = std::min(grid.rows_in_all, grid.first_row + rows);
  for (int row = grid.first_row; row < end; ++row) {
    grid.rows.push_back(BuildRow(status, inks, layout, static_cast<std::size_t>(row), view.ascii));
  }
  return grid;
}

}  // namespace baton::app
