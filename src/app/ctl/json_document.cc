#include "app/ctl/json_document.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include "base/escape.h"

namespace baton::app {
namespace {

namespace json = boost::json;

// Receives the parser's events; remembers the keys of each object that is open.
struct RepeatedKeys {
  using error_code = json::error_code;
  using string_view = json::string_view;

  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  std::vector<std::unordered_set<std::string>> open_objects;
  std::string key;  ///< the part that has come so far
  bool repeated = false;

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t, error_code&) { return true; }
  bool on_object_begin(error_code&) {
    open_objects.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, error_code&) {
    open_objects.pop_back();
    return true;
  }
  bool on_key_part(string_view part, std::size_t, error_code&) {
    key.append(part.data(), part.size());
    return true;
  }
  bool on_key(string_view part, std::size_t, error_code& error) {
    key.append(part.data(), part.size());
    repeated = !open_objects.back().insert(key).second;
    if (repeated) {
      error = json::error::syntax;
      return false;
    }
    key.clear();
    return true;
  }
  bool on_string_part(string_view, std::size_t, error_code&) { return true; }
  bool on_string(string_view, std::size_t, error_code&) { return true; }
  bool on_number_part(string_view, error_code&) { return true; }
  bool on_int64(std::int64_t, string_view, error_code&) { return true; }
  bool on_uint64(std::uint64_t, string_view, error_code&) { return true; }
  bool on_double(double, string_view, error_code&) { return true; }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }
};

Error At(std::string_view text, std::size_t offset, const std::string& what) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t last_line = before.rfind('\n');
  const std::size_t column = last_line == std::string_view::npos ? offset + 1 : offset - last_line;
  return {ErrorCode::kInvalidArgument, fmt::format("line {}, column {}: {}", line, column, what)};
}

}  // namespace

Result<json::value> ParseJsonDocument(std::string_view text) {
  json::basic_parser<RepeatedKeys> checker{json::parse_options{}};
  json::error_code error;
  const std::size_t end = checker.write_some(false, text.data(), text.size(), error);
  const RepeatedKeys& keys = checker.handler();
  if (keys.repeated)
    return At(text, end, "key " + Quote(json::value(keys.key)) + " is repeated; expected it once");
  if (error) return At(text, end, "not JSON (" + error.message() + ")");
  if (end < text.size()) return At(text, end, "more text; expected the end of the document");

  json::value value = json::parse({text.data(), text.size()}, error);
  if (error) return At(text, end, "not JSON (" + error.message() + ")");
  return value;
}

std::string Quote(const json::value& value) {
  constexpr std::size_t kLongest = 40;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  return OneLine(json::serialize(value), kLongest);
}

}  // namespace baton::app
