// words: the small languages of settings (addresses, durations, levels), etcd's version,
// and any bytes in a log record.
//
// Must hold: an accepted word is written back as a word that means the same. Refusals are one line.
// A log record is one line, or one JSON object.
#include <algorithm>

#include "app/common/duration.h"
#include "base/duration_text.h"
#include "base/escape.h"
#include "base/log.h"
#include "etcd/advice.h"
#include "fuzz/targets.h"
#include "http/address.h"
#include "sidecar/address.h"

namespace baton::fuzz {
namespace {

void MustRefuseInWords(const Error& error) {
  Must(!error.message.empty(), "a refusal has words");
  Must(error.code == ErrorCode::kInvalidArgument, "a refusal of words says so", error.message);
}

void RunAddress(std::string_view text) {
  const auto address = http::ParseAddress(text);
  if (!address) return MustRefuseInWords(address.error());
  Must(!address.value().host.empty(), "an address has a host", text);
  const auto again = http::ParseAddress(http::FormatAddress(address.value()));
  Must(again.ok() && again.value().host == address.value().host &&
           again.value().port == address.value().port,
       "an address reads as it was written", text);
}

void RunDuration(std::string_view text) {
  const auto duration = app::ParseDuration(text);
  if (!duration) return MustRefuseInWords(duration.error());
  const auto again = app::ParseDuration(FormatDuration(duration.value()));
  Must(again.ok() && again.value() == duration.value(), "a duration reads as it was written", text);
}

void RunSidecarAddress(std::string_view text) {
  const auto address = sidecar::ParseAddress(text);
  if (!address) return MustRefuseInWords(address.error());
  const auto again = sidecar::ParseAddress(sidecar::FormatAddress(address.value()));
  Must(again.ok() && again.value().path == address.value().path &&
           again.value().host == address.value().host && again.value().port == address.value().port,
       "a sidecar's address reads as it was written", text);
}

void RunLevel(std::string_view text) {
  const auto level = log::ParseLevel(text);
  if (level) return Must(ToString(level.value()) == text, "a level is its word", text);
  MustRefuseInWords(level.error());
}

void RunLog(std::string_view text) {
  const std::chrono::system_clock::time_point at{};
  const std::string line = log::FormatText(at, log::Level::kInfo, text, {{"key", text}});
  Must(line.find_first_of(std::string("\n\r\0\x1b", 4)) == std::string::npos,
       "a record is one line of text", line);
  std::string escaped;
  AppendEscaped(escaped, text, false);
  Must(SafeJson(escaped) == escaped, "what is escaped steers no terminal", escaped);
  MustBeJson(log::FormatJson(at, log::Level::kInfo, text, {{"key", text}, {"number", 7}}));
}

void RunVersion(std::string_view text) {
  const bool faulty = !etcd::FaultsOf(text).empty();
  Must(!faulty || std::count(text.begin(), text.end(), '.') >= 2, "a version has three numbers",
       text);
}

constexpr void (*kKinds[])(std::string_view) = {RunAddress, RunDuration, RunSidecarAddress,
                                                RunLevel,   RunLog,      RunVersion};

}  // namespace

void RunWords(std::string_view bytes) {
  Input input(bytes);
  const auto kind = kKinds[input.Choice(std::size(kKinds))];
  kind(input.Rest());
}

std::vector<Seed> WordsSeeds() {
  const auto of = [](int kind, const std::string& text) {
    return std::string(1, static_cast<char>(kind)) + text;
  };
  return {{"address", of(0, "127.0.0.1:7400")},
          {"address-v6", of(0, "[::1]:7400")},
          {"duration", of(1, "1500ms")},
          {"duration-hours", of(1, "2h")},
          {"socket", of(2, "unix:/run/b.sock")},
          {"loopback", of(2, "127.0.0.1:0")},
          {"level", of(3, "warn")},
          {"log", of(4, "two\nlines \x1b[31m\xff\xc3\xa9")},
          {"log-that-steers", of(4,
                                 "root\xc2\x9b"
                                 "31m\xe2\x80\xaegnp\xe2\x80\xa8key=1\xd8\x9c\xe2\x81\xa6\x7f")},
          {"version", of(5, "3.4.23")},
          {"version-of-ages", of(5, "3.4.99999999999999999999-rc.1")}};
}

}  // namespace baton::fuzz
