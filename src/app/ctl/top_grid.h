// Makes the shard grid of `top`. A cell stands for one or more shards, and shows one glyph in the
// colour of the leader. If a cell has several shards, it shows the most urgent one, in this order:
// leaderless, suspended, moving, activating, led. Of equally urgent shards, the cell shows one of
// the node that leads most shards of the cell. Pure; any thread.
#pragma once

#include <unordered_map>
#include <vector>

#include "app/ctl/top_frame.h"

namespace baton::app {

/// Gives each member a place: its index in NodeStatus::members. The place selects the node's letter
/// and colour.
class NodeInks {
 public:
  explicit NodeInks(const runtime::NodeStatus& status);
  int PlaceOf(const NodeId& node) const;  ///< -1: not a member
  /// Returns a to z, then A to Z. Returns '#' for places from 52 on and for -1.
  static char LetterOf(int place);

 private:
  std::unordered_map<NodeId, int> places_;
};

struct Grid {
  std::vector<Line> rows;
  std::size_t shards_per_cell = 1;
  int rows_in_all = 0;  ///< how many rows the whole grid has; `rows` has only the shown rows
  int first_row = 0;    ///< the index of the first row that is shown
};

/// Makes the grid of the status's shards. `rows`: the most rows to show. Without shards, the grid
/// has no rows. REQUIRES (checked): rows > 0, view.width >= 20. REQUIRES (not checked): the status
/// has all shards, sorted by number.
Grid BuildGrid(const runtime::NodeStatus& status, const NodeInks& inks, const TopView& view,
               int rows);

}  // namespace baton::app
