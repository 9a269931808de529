// Output for people and programs: aligned tables, colours, and YAML from JSON documents.
//
// Pure functions. Colours are ANSI escapes and only used if asked for; a table without them has the
// same information.
#pragma once

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
  std::vector<std::vector<Cell>> rows;  ///< REQUIRES: each has as many cells as `columns`
};

/// Returns `text` on one line, with what steers a terminal as escapes (\n, \u001b): see escape.h.
std::string Printable(std::string_view text);

/// Renders a title line and one line per row. Columns are two spaces apart, lines have no trailing
/// blanks, and cells are made Printable; titles are not. A column is as wide as its longest text
/// has bytes.
std::string Render(const Table& table, bool color);

/// Returns `text` in `style`, or unchanged without colour. REQUIRES: foreign text is Printable.
std::string Paint(std::string_view text, Style style, bool color);

/// Returns a JSON document as YAML. REQUIRES: `json` is JSON; else it throws.
std::string YamlFromJson(const std::string& json);

}  // namespace baton::app
