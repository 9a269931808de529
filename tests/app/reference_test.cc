// docs/reference.md against the programs' own words: it has a row for each flag and verb, with each
// default and each verb's flags, and no row for what does not exist. tests/tidy/reference.py
// compares the tables whose names stand in the sources.
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "app/common/flag_table.h"
#include "app/ctl_process.h"

namespace baton::app {
namespace {

using Words = std::set<std::string>;
using Row = std::vector<std::string>;  // its cells

/// The rows of the first table below the heading, its head left out.
std::vector<Row> TableBelow(const std::string& heading) {
  std::ifstream file(REFERENCE);
  std::vector<Row> rows;
  std::string line;
  bool below = false;
  while (std::getline(file, line)) {
    if (line.starts_with("## ")) below = line == heading;
    const bool row = below && line.starts_with("| ");
    if (!row && !rows.empty()) break;
    if (!row) continue;
    std::istringstream cells(line.substr(1));
    rows.emplace_back();
    while (std::getline(cells, line, '|')) rows.back().push_back(line);
  }
  if (rows.size() > 2) rows.erase(rows.begin(), rows.begin() + 2);
  return rows;
}

/// The lines below the heading, up to the first table.
std::vector<std::string> TextBelow(const std::string& heading) {
  std::ifstream file(REFERENCE);
  std::vector<std::string> lines;
  std::string line;
  while (std::getline(file, line) && line != heading) continue;
  while (std::getline(file, line) && !line.starts_with("|")) lines.push_back(line);
  return lines;
}

Words CodeIn(const std::string& cell) {
  static const std::regex kCode("`([^`]+)`");
  Words found;
  for (std::sregex_iterator at(cell.begin(), cell.end(), kCode), end; at != end; ++at) {
    found.insert((*at)[1]);
  }
  return found;
}

Words WordsIn(const std::string& text) {
  std::istringstream words(text);
  return {std::istream_iterator<std::string>(words), {}};
}

// Plan: the table of flags, row by row, against the table that the parser is made from.
TEST(Reference, HasEachFlagOfBatondWithItsDefault) {
  std::map<std::string, std::string> declared;
  for (const Flag& flag : Flags()) {
    declared["--" + std::string(flag.name)] = flag.fallback == nullptr ? "" : flag.fallback;
  }
  std::map<std::string, std::string> listed;
  for (const Row& row : TableBelow("## Flags of batond")) {
    ASSERT_GE(row.size(), 3u);
    const Words defaults = CodeIn(row[2]);
    for (const std::string& flag : CodeIn(row[0])) {
      // Without a default the cell says in words what holds then.
      const bool fixed = declared.contains(flag) && !declared.at(flag).empty();
      listed[flag] = fixed && defaults.size() == 1 ? *defaults.begin() : "";
    }
  }
  EXPECT_EQ(listed, declared);
}

// Plan: the table of baton-guard's flags against its own --help.
TEST(Reference, HasEachFlagOfBatonGuard) {
  const Ran ran = RunProcess({.arguments = {BATON_GUARD, "--help"}, .input = {}, .watch = {}});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  static const std::regex kFlag("\\n  (?:-[a-z],)?(--[a-z-]+)");
  Words declared;
  for (std::sregex_iterator at(ran.out.begin(), ran.out.end(), kFlag), end; at != end; ++at) {
    declared.insert((*at)[1]);
  }
  declared.erase("--help");
  Words listed;
  for (const Row& row : TableBelow("## Flags of baton-guard")) {
    ASSERT_GE(row.size(), 2u);
    listed.merge(CodeIn(row[0]));
  }
  EXPECT_EQ(listed, declared);
}

/// The words of one place of batonctl's completion.
struct Place {
  Words verbs;
  Words flags;
};
/// By path ("shards transfer"; empty: batonctl itself).
std::map<std::string, Place> PlacesOfBatonctl() {
  const Ran ran =
      RunProcess({.arguments = {BATONCTL, "completion", "bash"}, .input = {}, .watch = {}});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  static const std::regex kPlace("\"([a-z -]*)\"\\) verbs=\"([^\"]*)\"; flags=\"([^\"]*)\"");
  std::map<std::string, Place> places;
  for (std::sregex_iterator at(ran.out.begin(), ran.out.end(), kPlace), end; at != end; ++at) {
    places[(*at)[1]] = {.verbs = WordsIn((*at)[2]), .flags = WordsIn((*at)[3])};
  }
  return places;
}

/// Path of the verb ("shards transfer") -> its own flags.
std::map<std::string, Words> VerbsOfBatonctl() {
  const std::map<std::string, Place> places = PlacesOfBatonctl();
  std::map<std::string, Words> verbs;
  for (const auto& [path, place] : places) {
    if (!place.verbs.empty()) continue;  // it only has verbs below it
    verbs[path] = place.flags;
    for (const std::string& flag : places.at("").flags) verbs[path].erase(flag);
  }
  verbs.erase("demo-node");  // for demo alone
  return verbs;
}

// Plan: the table of verbs against the tree that batonctl completes from.
TEST(Reference, HasEachVerbOfBatonctlWithItsFlags) {
  static const std::regex kPath("[a-z]+(?: [a-z]+)*");
  std::map<std::string, Words> listed;
  for (const Row& row : TableBelow("## Verbs of batonctl")) {
    ASSERT_GE(row.size(), 3u);
    for (const std::string& usage : CodeIn(row[0])) {
      std::smatch path;
      ASSERT_TRUE(std::regex_search(usage, path, kPath)) << usage;
      listed[path[0]] = CodeIn(row[2]);
    }
  }
  EXPECT_EQ(listed, VerbsOfBatonctl());
}

// Plan: the paragraph above the table of verbs against the same tree.
TEST(Reference, HasEachFlagOfAllVerbs) {
  std::string text;
  for (const std::string& line : TextBelow("## Verbs of batonctl")) text += line + " ";
  static const std::regex kFlag("`(--?[a-z-]+)");
  Words listed;
  for (std::sregex_iterator at(text.begin(), text.end(), kFlag), end; at != end; ++at) {
    listed.insert((*at)[1]);
  }
  Words declared = PlacesOfBatonctl().at("").flags;
  declared.erase("-h");
  EXPECT_EQ(listed, declared);
}

// Plan: the table's codes against those that batond's own --help explains.
TEST(Reference, HasEachExitCodeOfBatond) {
  const Ran ran = RunProcess({.arguments = {BATOND, "--help"}, .input = {}, .watch = {}});
  EXPECT_EQ(ran.exit, 0) << ran.err;
  const std::size_t from = ran.out.find("Exit codes:");
  ASSERT_NE(from, std::string::npos);
  const std::string text = ran.out.substr(from);
  static const std::regex kCode("[:;]\\s(\\d+) ");
  Words declared;
  for (std::sregex_iterator at(text.begin(), text.end(), kCode), end; at != end; ++at) {
    declared.insert((*at)[1]);
  }
  Words listed;
  for (const Row& row : TableBelow("## Exit codes of batond")) listed.merge(CodeIn(row.at(0)));
  EXPECT_EQ(listed, declared);
}

}  // namespace
}  // namespace baton::app
