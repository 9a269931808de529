// One frame of `top`: lines of coloured text, made from a node's status and the window's size.
//
// Pure: the same status and view give the same frame. ncurses (top.cc) only paints it. All glyphs
// are one column wide. No line is wider and no frame taller than the view. Below 30 columns or 8
// lines it only says that the window is too small.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/control.h"

namespace baton::app {

enum class Ink : std::uint8_t { kPlain, kTitle, kDim, kGood, kWarning, kBad, kNode };

struct Span {
  std::string text;  ///< UTF-8, or ASCII if the view asks for it
  Ink ink = Ink::kPlain;
  int node = -1;  ///< for kNode: the node's place among the members, which selects the colour
};
using Line = std::vector<Span>;
struct Frame {
  std::vector<Line> lines;
  int shard_scroll = 0;  ///< the view's, limited to the rows there are; 0: no shards are shown
  int node_scroll = 0;   ///< the same for nodes
};

struct TopView {
  int width = 80;
  int height = 24;
  int shard_scroll = 0;  ///< rows of the shard grid
  int node_scroll = 0;   ///< rows of the node list
  bool paused = false;
  bool ascii = false;                ///< the terminal can't show UTF-8
  std::string problem;               ///< why the status is not newer; empty: it is current
  std::chrono::milliseconds age{0};  ///< the status's age
};

/// At most this many shards share a cell of the grid; if there are more, the grid scrolls.
inline constexpr std::size_t kMaxShardsPerCell = 8;

/// Makes a frame. `status` is null before the first answer.
Frame BuildFrame(const runtime::NodeStatus* status, const TopView& view);

/// Returns the frame's text without colours and trailing blanks.
std::string PlainText(const Frame& frame);

/// Returns how many columns a UTF-8 text of one-column glyphs takes.
int Columns(const std::string& text);

}  // namespace baton::app
