#include "app/ctl/table.h"

#include <algorithm>

#include <fmt/format.h>
#include <yaml-cpp/emitter.h>
#include <boost/json.hpp>

#include "app/common/yaml_document.h"
#include "base/check.h"
#include "base/escape.h"

namespace baton::app {
namespace {

namespace json = boost::json;

const char* CodeOf(Style style) {
  switch (style) {
    case Style::kPlain: return "";
    case Style::kDim: return "\033[2m";
    case Style::kBold: return "\033[1m";
    case Style::kGood: return "\033[32m";
    case Style::kWarning: return "\033[33m";
    case Style::kBad: return "\033[1;31m";
  }
  return "";
}

std::vector<std::size_t> WidthsOf(const Table& table) {
  std::vector<std::size_t> widths;
  for (const Column& column : table.columns) widths.push_back(column.title.size());
  for (const auto& row : table.rows) {
    BATON_CHECK(row.size() == widths.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], row[i].text.size());
    }
  }
  return widths;
}

/// Appends one cell after its blanks; blanks behind it are only written if a cell follows.
void Append(const Cell& cell, Align align, std::size_t width, bool color, std::string* line,
            std::size_t* owed) {
  const std::size_t blanks = width - cell.text.size();
  if (align == Align::kRight) *owed += blanks;
  if (!cell.text.empty()) {
    line->append(*owed, ' ');
    *owed = 0;
    *line += Paint(cell.text, cell.style, color);
  }
  if (align == Align::kLeft) *owed += blanks;
  *owed += 2;
}

void Emit(const json::value& value, YAML::Emitter* out);

void EmitString(std::string_view text, YAML::Emitter* out) {
  if (!IsPlainYaml(text)) *out << YAML::DoubleQuoted;
  *out << std::string(text);
}

void EmitObject(const json::object& object, YAML::Emitter* out) {
  *out << (object.empty() ? YAML::Flow : YAML::Block) << YAML::BeginMap;
  for (const auto& field : object) {
    *out << YAML::Key;
    EmitString(field.key(), out);
    *out << YAML::Value;
    Emit(field.value(), out);
  }
  *out << YAML::EndMap;
}

void EmitArray(const json::array& array, YAML::Emitter* out) {
  *out << (array.empty() ? YAML::Flow : YAML::Block) << YAML::BeginSeq;
  for (const json::value& item : array) Emit(item, out);
  *out << YAML::EndSeq;
}

// As short as in JSON: yaml-cpp would write 0.1 as 0.10000000000000001. To YAML 1.1, 7e-06 is a
// text.
std::string ShortNumber(double number) {
  std::string text = fmt::format("{}", number);
  const std::size_t exponent = text.find('e');
  if (exponent != std::string::npos && text.find('.') == std::string::npos)
    text.insert(exponent, ".0");
  return text;
}

void Emit(const json::value& value, YAML::Emitter* out) {
  switch (value.kind()) {
    case json::kind::null: *out << YAML::Null; return;
    case json::kind::bool_: *out << value.get_bool(); return;
    case json::kind::int64: *out << value.get_int64(); return;
    case json::kind::uint64: *out << value.get_uint64(); return;
    case json::kind::double_: *out << ShortNumber(value.get_double()); return;
    case json::kind::string: EmitString(value.get_string(), out); return;
    case json::kind::array: EmitArray(value.get_array(), out); return;
    case json::kind::object: EmitObject(value.get_object(), out); return;
  }
}

}  // namespace

std::string Paint(std::string_view text, Style style, bool color) {
  if (!color || style == Style::kPlain) return std::string(text);
  return std::string(CodeOf(style)) + std::string(text) + "\033[0m";
}

std::string Printable(std::string_view text) {
  std::string printable;
  AppendEscaped(printable, text, false);
  return printable;
}

std::string Render(const Table& foreign, bool color) {
  Table table = foreign;
  for (auto& row : table.rows) {
    for (Cell& cell : row) cell.text = Printable(cell.text);
  }
  const std::vector<std::size_t> widths = WidthsOf(table);
  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    std::size_t owed = 0;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      Append(cell_of(i), table.columns[i].align, widths[i], color, &line, &owed);
    }
    out += line + "\n";
  };
  add_line([&](std::size_t i) { return Cell{table.columns[i].title, Style::kBold}; });
  for (const auto& row : table.rows) add_line([&](std::size_t i) { return row[i]; });
  return out;
}

std::string CountOf(std::size_t count, const std::string& thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::string YamlFromJson(const std::string& json) {
  YAML::Emitter out;
  if (SafeJson(json) != json) out.SetOutputCharset(YAML::EscapeNonAscii);
  Emit(json::parse(json), &out);
  return std::string(out.c_str()) + "\n";
}

}  // namespace baton::app
