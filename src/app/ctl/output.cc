#include "app/ctl/output.h"

#include <unistd.h>
#include <chrono>
#include <iostream>

#include "app/ctl/interrupt.h"
#include "base/escape.h"

namespace baton::app {

namespace {

ExitCode ExitOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return ExitCode::kUsage;
    case ErrorCode::kNotFound: return ExitCode::kNotFound;
    case ErrorCode::kFailedPrecondition: return ExitCode::kPrecondition;
    case ErrorCode::kUnavailable: return ExitCode::kUnreachable;
    case ErrorCode::kTimedOut: return ExitCode::kTimedOut;
    case ErrorCode::kStaleTerm: return ExitCode::kPrecondition;
    case ErrorCode::kUnimplemented: return ExitCode::kFailed;
    case ErrorCode::kInternal: return ExitCode::kFailed;
  }
  return ExitCode::kFailed;
}

}  // namespace

void PrintStructured(const CtlOptions& options, const std::string& json) {
  if (options.format == Format::kYaml) {
    std::cout << YamlFromJson(json) << std::flush;
  } else {
    std::cout << SafeJson(json) << std::endl;
  }
}

void PrintTable(const CtlOptions& options, const Table& table) {
  std::cout << Render(table, options.color) << std::flush;
}

void PrintLine(const std::string& line) { std::cout << Printable(line) << std::endl; }

void PrintCells(const CtlOptions& options, const std::vector<Cell>& cells) {
  for (const Cell& cell : cells) {
    std::cout << Paint(Printable(cell.text), cell.style, options.color);
  }
  std::cout << std::endl;
}

void Say(const std::string& line) { std::cerr << "batonctl: " << Printable(line) << std::endl; }

ExitCode Fail(const Error& error) {
  if (Interrupt::Happened()) {
    Say("interrupted");
    return ExitCode::kInterrupted;
  }
  Say(error.message.empty() ? ToString(error.code) : error.message);
  return ExitOf(error.code);
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}
Progress::~Progress() { End(); }

void Progress::Show(const std::string& line) {
  if (line == last_) return;
  const TimePoint now = BootClock::now();
  if (!terminal_ && !last_.empty() && now - last_at_ < std::chrono::seconds(1)) return;
  last_ = line;
  last_at_ = now;
  if (!terminal_) {
    Say(line);
    return;
  }
  std::cerr << "\r\033[Kbatonctl: " << Printable(line) << std::flush;
  open_ = true;
}

void Progress::End() {
  if (open_) std::cerr << std::endl;
  open_ = false;
}

}  // namespace baton::app
