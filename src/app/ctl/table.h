// Output for people and programs: aligned tables, colours, and YAML from JSON documents.
//
// Pure functions; any thread. Colours are ANSI escapes. Without colours, a table has the same
// information.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace baton::app {

enum class Style : std::uint8_t { kPlain, kDim, kBold, kGood, kWarning, kBad };
enum class Align : std::uint8_t { kLeft, kRight };

struct Cell {
  std::string text;
  Style style = Style::kPlain;
};

struct Column {
  std::string title;
  Align align = Align::kLeft;
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< REQUIRES (checked): each has as many cells as `columns`
};

/// Returns `text` on one line. Characters that control a terminal become escapes such as \n and
/// \u001b (escape.h).
std::string Printable(std::string_view text);

/// Renders a line with the titles and one line for each row. Cells are made Printable; titles are
/// not. Columns are two spaces apart. Lines have no blanks for alignment at their ends. Widths are
/// counted in bytes. So a text that is not ASCII moves the columns after it.
std::string Render(const Table& table, bool color);

/// Returns `text` in `style`. If `color` is false, returns `text` unchanged. Escapes nothing.
/// REQUIRES (not checked): if `text` comes from outside this program, the caller has made it
/// Printable.
std::string Paint(std::string_view text, Style style, bool color);

/// Returns a number with its noun, such as "1 shard" or "2 shards". The plural is `thing` and "s".
std::string CountOf(std::size_t count, const std::string& thing);

/// Returns a JSON document as YAML, with a line feed at the end. Throws an exception if `json` is
/// not JSON.
std::string YamlFromJson(const std::string& json);

}  // namespace baton::app
