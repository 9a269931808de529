// Other people's text in logs, tables and JSON.
#include "base/escape.h"

#include <gtest/gtest.h>

namespace baton {
namespace {

std::string Escaped(std::string_view text) {
  std::string out;
  AppendEscaped(out, text, false);
  return out;
}

// Plan: the first and the last character of each range that steers a terminal or turns a line
// around, and the neighbours, which stay.
TEST(Escape, WritesWhatSteersATerminalAsItsNumber) {
  const std::pair<const char*, const char*> cases[] = {
      {"\x1b", "\\u001b"},         {"\x7f", "\\u007f"},         {"\xc2\x80", "\\u0080"},
      {"\xc2\x9b", "\\u009b"},     {"\xc2\x9f", "\\u009f"},     {"\xd8\x9c", "\\u061c"},
      {"\xe2\x80\x8e", "\\u200e"}, {"\xe2\x80\x8f", "\\u200f"}, {"\xe2\x80\xa8", "\\u2028"},
      {"\xe2\x80\xa9", "\\u2029"}, {"\xe2\x80\xaa", "\\u202a"}, {"\xe2\x80\xae", "\\u202e"},
      {"\xe2\x81\xa6", "\\u2066"}, {"\xe2\x81\xa9", "\\u2069"}};
  for (const auto& [text, escaped] : cases) {
    EXPECT_EQ(Escaped(text), escaped);
    if (*text == 0x1b) continue;  // a library that writes JSON has escaped it
    EXPECT_EQ(SafeJson(std::string("[\"x") + text + "y\"]"),
              std::string("[\"x") + escaped + "y\"]");
  }
  for (const char* text :
       {"caf\xc3\xa9", "\xc2\xa0", "\xe2\x80\x8d", "\xe2\x80\xa7", "\xe2\x80\xaf", "\xe2\x81\xa5",
        "\xe2\x81\xaa", "\xf0\x9f\x98\x80", "\xef\xbf\xbd"}) {
    EXPECT_EQ(Escaped(text), text);
    EXPECT_EQ(SafeJson(text), text);
  }
}

// Plan: a name as somebody would write it to forge a line of the log.
TEST(Escape, LeavesNoWayToForgeALine) {
  EXPECT_EQ(Escaped("root\xc2\x9b\x33\x31m\xe2\x80\xaegnp.exe\xe2\x80\xa8key=1\n\xff"),
            "root\\u009b31m\\u202egnp.exe\\u2028key=1\\n\xef\xbf\xbd");
  EXPECT_EQ(SafeJson("[\"\xe2\x80\xae\",\"\xe2\x80\xae\xe2\x80\xae\"]"),
            "[\"\\u202e\",\"\\u202e\\u202e\"]");
  EXPECT_EQ(OneLine("\xe2\x80\xae\xe2\x80\xae", 8), "\\u202e\\u...");
}

// Plan: characters of one to four bytes, escaped ones and bad bytes, around the place of the cut,
// with nothing and with much behind them. The line begins as the whole text does, and is cut
// between characters.
TEST(Escape, CutsALongTextAsItWouldCutAShortOne) {
  constexpr std::size_t kMost = 20;
  for (const std::string& character :
       {std::string("x"), std::string("\xc3\xa9"), std::string("\xe2\x82\xac"),
        std::string("\xf0\x9f\x98\x80"), std::string("\n"), std::string("\xe2\x80\xae"),
        std::string("\xff"), std::string("\xe2\x82")}) {
    for (std::size_t before = kMost - 8; before <= kMost; ++before) {
      std::string text(before, 'x');
      for (int i = 0; i < 9; ++i) text += character;
      std::string whole = Escaped(text);
      std::size_t most = kMost;
      while ((static_cast<unsigned char>(whole[most]) & 0xC0) == 0x80) --most;
      whole = whole.substr(0, most) + "...";
      EXPECT_EQ(OneLine(text, kMost), whole);
      EXPECT_EQ(OneLine(text + std::string(1000, 'y'), kMost), whole);
      EXPECT_EQ(OneLineWithin(text, kMost + 3),
                Escaped(text).size() <= kMost + 3 ? Escaped(text) : whole);
    }
  }
}

}  // namespace
}  // namespace baton
