// One frame of `top`: lines of coloured text, made from a node's status and the window's size.
//
// Pure; any thread. ncurses (top.cc) only paints the frame. Every character counts as one column,
// although a text from a node may have characters that are wider. No line is wider than the view,
// and no frame is taller than the view. If the view has fewer than 30 columns or 8 lines, the frame
// has only the header, the notice, "window too small" and the footer, as far as they fit.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/control.h"

namespace baton::app {

enum class Ink : std::uint8_t { kPlain, kTitle, kDim, kGood, kWarning, kBad, kNode };

struct Span {
  std::string text;  ///< UTF-8; if TopView::ascii is set, our own glyphs are ASCII
  Ink ink = Ink::kPlain;
  /// For kNode: the node's index in NodeStatus::members. It selects the colour. -1: the node is no
  /// member.
  int node = -1;
};
using Line = std::vector<Span>;
struct Frame {
  std::vector<Line> lines;
  int shard_scroll = 0;  ///< that of TopView, limited to the rows that exist; 0 without a grid
  int node_scroll = 0;   ///< that of TopView, limited to the nodes that exist; 0 if none is shown
};

struct TopView {
  int width = 80;
  int height = 24;
  int shard_scroll = 0;  ///< how many rows of the shard grid are skipped
  int node_scroll = 0;   ///< how many nodes are skipped
  bool paused = false;
  bool ascii = false;                ///< the terminal can't show UTF-8
  std::string problem;               ///< why the last call failed; empty: it did not fail
  std::chrono::milliseconds age{0};  ///< how long ago the last answer came
};

/// At most this many shards share a cell of the grid. If the shards don't fit into the view then,
/// the grid scrolls.
inline constexpr std::size_t kMaxShardsPerCell = 8;

/// Makes a frame. `status`: a status with its shards; null if there was no answer yet.
Frame BuildFrame(const runtime::NodeStatus* status, const TopView& view);

/// Returns the frame's text without colours and trailing blanks.
std::string PlainText(const Frame& frame);

/// Returns how many columns a UTF-8 text of one-column glyphs takes.
int Columns(const std::string& text);

}  // namespace baton::app
