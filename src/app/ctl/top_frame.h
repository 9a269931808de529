// Makes one frame of `top`: lines of coloured text, from a node's status and the window's size.
//
// Pure; any thread. Every character counts as one column, although a text from a node may have
// wider characters. No line is wider than the view, and no frame is taller than the view. If the
// view has fewer than 30 columns or 8 lines, the frame has no nodes and no shards. It then has the
// header, the notice, "window too small" and the footer, as far as they fit.
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
  /// Only for kNode: the node's index in NodeStatus::members, for the colour. -1: not a member.
  int node = -1;
};
using Line = std::vector<Span>;
struct Frame {
  std::vector<Line> lines;
  // TopView's values, reduced as far as the last row and the last node allow. 0: not shown.
  int shard_scroll = 0;
  int node_scroll = 0;
};

struct TopView {
  int width = 80;
  int height = 24;
  int shard_scroll = 0;  ///< how many rows of the shard grid are skipped
  int node_scroll = 0;   ///< how many nodes are skipped
  bool paused = false;
  bool ascii = false;                ///< the terminal can't show UTF-8
  std::string problem;               ///< why the last call failed; empty: the call succeeded
  std::chrono::milliseconds age{0};  ///< how long ago the last answer came
};

/// At most this many shards share a cell of the grid. If even then the shards don't fit into the
/// view, the grid scrolls.
inline constexpr std::size_t kMaxShardsPerCell = 8;

/// Makes a frame. `status`: null if there was no answer yet. REQUIRES (not checked): `status` has
/// all shards, sorted by number.
Frame BuildFrame(const runtime::NodeStatus* status, const TopView& view);

/// Returns the text of the frame's lines, without colours and without trailing blanks.
std::string PlainText(const Frame& frame);

/// Returns how many columns a UTF-8 text takes. Every character counts as one column.
int Columns(const std::string& text);

}  // namespace baton::app
