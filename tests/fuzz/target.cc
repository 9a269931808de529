#include "fuzz/target.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fuzz/targets.h"

namespace baton::fuzz {
namespace {

// Longer than any message that quotes its input, because quotes are cut.
constexpr std::size_t kLongestLine = 4096;

constexpr Target kTargets[] = {
    {"access", RunAccess, AccessSeeds},
    {"calls", RunCalls, CallsSeeds},
    {"command_line", RunCommandLine, CommandLineSeeds},
    {"config", RunConfig, ConfigSeeds},
    {"etcd_answers", RunEtcdAnswers, EtcdAnswersSeeds},
    {"http", RunHttp, HttpSeeds},
    {"keys", RunKeys, KeysSeeds},
    {"messages", RunMessages, MessagesSeeds},
    {"pem", RunPem, PemSeeds},
    {"placement", RunPlacement, PlacementSeeds},
    {"records", RunRecords, RecordsSeeds},
    {"requests", RunRequests, RequestsSeeds},
    {"routes", RunRoutes, RoutesSeeds},
    {"sharding", RunSharding, ShardingSeeds},
    {"sidecar", RunSidecar, SidecarSeeds},
    {"state_file", RunStateFile, StateFileSeeds},
    {"state_json", RunStateJson, StateJsonSeeds},
    {"watch", RunWatch, WatchSeeds},
    {"words", RunWords, WordsSeeds},
};

bool IsControl(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < ' ' || byte == 0x7F;
}

// Makes any bytes printable.
std::string Shown(std::string_view bytes) {
  constexpr std::size_t kMax = 200;
  std::string shown;
  for (const char c : bytes.substr(0, kMax)) {
    const bool plain = !IsControl(c) && static_cast<unsigned char>(c) < 0x80;
    char code[8];
    std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(c) & 0xFF);
    shown += plain ? std::string(1, c) : code;
  }
  return shown + (bytes.size() > kMax ? "..." : "");
}

}  // namespace

std::span<const Target> Targets() { return kTargets; }

const Target* FindTarget(std::string_view name) {
  const auto* const found =
      std::find_if(std::begin(kTargets), std::end(kTargets),
                   [name](const Target& target) { return target.name == name; });
  return found == std::end(kTargets) ? nullptr : found;
}

void Must(bool held, std::string_view what, std::string_view seen) {
  if (held) return;
  const std::string line =
      "fuzz: must hold: " + std::string(what) + (seen.empty() ? "" : "; seen: " + Shown(seen));
  std::fprintf(stderr, "%s\n", line.c_str());
  std::abort();
}

void MustBeOneLine(std::string_view words) {
  Must(!words.empty() && std::none_of(words.begin(), words.end(), IsControl),
       "words for people are one line without control characters", words);
  Must(words.size() <= kLongestLine, "a line for people is of a bounded length", words);
}

void MustBeJson(std::string_view text) {
  boost::json::error_code error;
  boost::json::parse({text.data(), text.size()}, error);
  Must(!error, "an answer is JSON", text);
}

std::uint8_t Input::Byte() {
  const std::string_view one = Take(1);
  return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one.front());
}

std::uint32_t Input::Number() {
  std::uint32_t number = 0;
  for (int i = 0; i < 4; ++i) number = number << 8 | Byte();
  return number;
}

std::string_view Input::Take(std::size_t size) {
  const std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(taken.size());
  return taken;
}

std::string_view Input::Part() {
  const std::size_t high = Byte();
  return Take(high << 8 | Byte());
}

std::string NumberBytes(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xFF);
  return bytes;
}

std::string PartBytes(std::string_view part) {
  const auto byte = [&part](unsigned shift) {
    return static_cast<char>(part.size() >> shift & 0xFF);
  };
  return std::string{byte(8), byte(0)} + std::string(part);
}

const std::string& Scratch() {
  static const std::string folder = [] {
    const bool memory = access("/dev/shm", W_OK) == 0;
    std::string path = std::string(memory ? "/dev/shm" : "/tmp") + "/baton-fuzz-XXXXXX";
    Must(mkdtemp(path.data()) != nullptr, "a folder can be made", path);
    static const std::string made = path;
    std::atexit([] {
      std::error_code ignored;
      std::filesystem::remove_all(made, ignored);
    });
    return path;
  }();
  return folder;
}

void WriteFile(const std::string& path, std::string_view content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(content.data(), static_cast<std::streamsize>(content.size()));
  file.close();
  Must(!file.fail(), "a file can be written", path);
}

}  // namespace baton::fuzz
