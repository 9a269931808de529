// The shard grid of `top`: one glyph per cell, one or more shards per cell, coloured by leader. A
// cell shows the most urgent of its shards, in this order: leaderless, suspended, moving,
// activating, led. Pure; any thread.
#pragma once

#include <unordered_map>
#include <vector>

#include "app/ctl/top_frame.h"

namespace baton::app {

/// Each node's index among the members, called its place. It gives the node's letter and colour.
class NodeInks {
 public:
  explicit NodeInks(const runtime::NodeStatus& status);
  int PlaceOf(const NodeId& node) const;  ///< -1: not a member
  /// The letter of a place: a to z, then A to Z. '#' for places from 52 on and for -1.
  static char LetterOf(int place);

 private:
  std::unordered_map<NodeId, int> places_;
};

struct Grid {
  std::vector<Line> rows;
  std::size_t shards_per_cell = 1;
  int rows_in_all = 0;  ///< rows of the whole grid; `rows` has those that are shown
  int first_row = 0;    ///< the index of the first row that is shown
};

/// `rows`: the most rows to show. Without shards the grid has no rows. REQUIRES (checked):
/// rows > 0, view.width >= 20.
Grid BuildGrid(const runtime::NodeStatus& status, const NodeInks& inks, const TopView& view,
               int rows);

}  // namespace baton::app
