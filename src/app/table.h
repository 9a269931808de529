// Output for people and programs: aligned tables, colours, and YAML from JSON documents.
//
// Pure functions. Colours are ANSI's and only where asked for; without them a table carries the
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
  std::vector<std::vector<Cell>> rows;  ///< REQUIRES: each as long as `columns`
};

/// `text` with control characters as escapes (\n, \x1b): what others named must not steer a
/// terminal.
std::string Printable(std::string_view text);

/// A title line and one line per row, columns two spaces apart, no blanks at line ends.
/// Cells are made Printable.
std::string Render(const Table& table, bool color);

/// `text` in `style`; unchanged without colour. REQUIRES: foreign text is Printable.
std::string Paint(std::string_view text, Style style, bool color);

/// The same document as YAML. REQUIRES: `json` is JSON.
std::string YamlFromJson(const std::string& json);

}  // namespace baton::app
