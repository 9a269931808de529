// One frame of `top`: lines of inked text, from a picture of the group and the window's size.
//
// Pure: the same picture and view give the same frame. ncurses (top.cc) only paints it. All glyphs
// are one column wide; no line is wider than the view, no frame taller.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/control.h"

namespace baton::app {

enum class Ink : std::uint8_t { kPlain, kTitle, kDim, kGood, kWarning, kBad, kNode };

struct Span {
  std::string text;  ///< UTF-8; ASCII where the view asks for it
  Ink ink = Ink::kPlain;
  int node = -1;  ///< for kNode: the node's place among the members, which picks the colour
};
using Line = std::vector<Span>;
struct Frame {
  std::vector<Line> lines;
  int shard_scroll = 0;  ///< the view's, within what there is
  int node_scroll = 0;
};

struct TopView {
  int width = 80;
  int height = 24;
  int shard_scroll = 0;  ///< rows of the shard grid
  int node_scroll = 0;   ///< rows of the node list
  bool paused = false;
  bool ascii = false;                ///< the terminal can't show UTF-8
  std::string problem;               ///< why there is no newer picture; empty: all well
  std::chrono::milliseconds age{0};  ///< of the picture
};

/// At most this many shards share a cell of the grid; more are scrolled to.
inline constexpr std::size_t kMaxShardsPerCell = 8;

/// `status` may be null: no picture yet.
Frame BuildFrame(const runtime::NodeStatus* status, const TopView& view);

/// The frame without ink, blanks at line ends cut.
std::string PlainText(const Frame& frame);

/// Columns that a UTF-8 text of one-column glyphs takes.
int Columns(const std::string& text);

}  // namespace baton::app
