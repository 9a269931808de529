#include "app/demo/report.h"

#include <iostream>

#include <fmt/format.h>

namespace baton::app {
namespace {

constexpr std::size_t kClaimWidth = 46;

}  // namespace

void DemoReport::Part(const std::string& title) {
  Line("");
  Line(Paint(fmt::format("{}. {}", ++parts_, title), Style::kBold, color_));
}

void DemoReport::Line(const std::string& text) { std::cout << text << std::endl; }

void DemoReport::Note(const std::string& text) {
  Line("      " + Paint(text, Style::kDim, color_));
}

void DemoReport::Show(const Table& table) {
  const std::string text = Render(table, color_);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    Line("      " + text.substr(begin, end - begin));
    begin = end + 1;
  }
}

void DemoReport::Claim(const DemoClaim& claim) {
  ++(claim.holds ? passed_ : failed_);
  const std::string verdict =
      claim.holds ? Paint("PASS", Style::kGood, color_) : Paint("FAIL", Style::kBad, color_);
  Line(fmt::format("{}  {:{}}  {}", verdict, claim.claim, kClaimWidth, claim.measured));
  if (!claim.holds) Line("      try next: " + claim.next);
}

void DemoReport::End() {
  Line("");
  Line(Paint(fmt::format("{} passed, {} failed", passed_, failed_),
             failed_ == 0 ? Style::kGood : Style::kBad, color_) +
       ", " + TimeWord(BootClock::now() - started_) + " in all");
}

std::string TimeWord(Duration duration) {
  const double ms = std::chrono::duration<double, std::milli>(duration).count();
  const double number = ms < 1000 ? ms : ms / 1000;
  const int decimals = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}", number, decimals, ms < 1000 ? "ms" : "s");
}

std::string Grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace baton::app
