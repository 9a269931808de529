#include "app/common/yaml_document.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>

#include "base/escape.h"

namespace baton::app {
namespace {

constexpr std::size_t kLongestQuote = 64;

// Notes where each document begins.
class DocumentStarts final : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { last_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

  const YAML::Mark& last() const { return last_; }

 private:
  YAML::Mark last_;
};

// Where a second document begins, if one does: YAML::Load would ignore it without a word. Not by
// YAML::LoadAll, because yaml-cpp 0.7 finds empty documents without an end at a token that can't
// begin one, as in "{a: b}, c".
std::optional<YAML::Mark> SecondDocument(const std::string& text) {
  std::istringstream input(text);
  YAML::Parser parser(input);
  DocumentStarts starts;
  const bool second = parser.HandleNextDocument(starts) && parser.HandleNextDocument(starts);
  return second ? std::optional(starts.last()) : std::nullopt;
}

Error WrongAt(const std::string& path, const YAML::Mark& mark, const std::string& what) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}:{}: {}", path, mark.line + 1, what)};
}

// The first line, from 1, that a tab indents, which YAML forbids; nullopt: there is none.
std::optional<int> LineWithTab(const std::string& text) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    const std::size_t end = std::min(line.find_first_not_of(" \t\r"), line.size());
    if (end < line.size() && line.find('\t') < end) return number;
  }
  return std::nullopt;
}

}  // namespace

Result<YAML::Node> ParseYamlDocument(const std::string& path, const std::string& text) {
  try {
    YAML::Node document = YAML::Load(text);
    if (const auto second = SecondDocument(text)) {
      return WrongAt(path, *second, "a second YAML document begins here; keep one");
    }
    return document;
  } catch (const YAML::Exception& malformed) {
    if (const auto line = LineWithTab(text)) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("{}:{}: this is not YAML: a tab indents this line; use spaces", path, *line)};
    }
    // yaml-cpp repeats a byte of the text, which may steer a terminal.
    return WrongAt(path, malformed.mark,
                   "this is not YAML: " + OneLine(malformed.msg, kLongestQuote));
  }
}

Error YamlFault(const std::string& path, const YAML::Node& node, const std::string& what) {
  return WrongAt(path, node.Mark(), what);
}

std::string QuotedWord(const std::string& text) { return '"' + OneLine(text, kLongestQuote) + '"'; }

bool IsPlainYaml(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  static const std::set<std::string> kTaken = {"null", "true", "false", "yes", "no",
                                               "on",   "off",  "y",     "n"};
  return !lower.empty() && lower.front() >= 'a' && lower.front() <= 'z' && !kTaken.contains(lower);
}

}  // namespace baton::app
