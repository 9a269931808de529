// A fuzz target: a function of bytes that aborts, after one line on stderr, if something that must
// hold does not.
//
// Each fuzz_NAME.cc has one. The same functions run under libFuzzer (fuzz.cc) and on the kept
// corpora (replay.cc), in builds with sanitizers. Their only state comes from their input, so an
// input is enough to repeat a failure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace baton::fuzz {

struct Seed {
  const char* name;
  std::string bytes;
};

struct Target {
  const char* name;
  void (*run)(std::string_view bytes);
  /// A few small and well-formed inputs, from which a search starts.
  std::vector<Seed> (*seeds)();
};

/// By name.
std::span<const Target> Targets();
/// Null if there is no target of that name.
const Target* FindTarget(std::string_view name);

/// If `held` is false, prints a line with `what` must hold and what was `seen` instead, and aborts.
void Must(bool held, std::string_view what, std::string_view seen = {});

/// Checks that a message for people is one line, without control characters, and not too long.
void MustBeOneLine(std::string_view words);
/// Checks that the text parses as JSON.
void MustBeJson(std::string_view text);

/// Takes values from the front of an input. Past its end, numbers are zero and parts are empty.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t Byte();
  /// A number below `bound`, which is at most 256.
  std::size_t Choice(std::size_t bound) { return Byte() % bound; }
  std::uint32_t Number();
  std::string_view Take(std::size_t size);
  /// A part: two bytes with its length, then its bytes. For several messages in one input.
  std::string_view Part();
  std::string_view Rest() { return Take(rest_.size()); }

 private:
  std::string_view rest_;
};

/// Writes what Input::Number and Input::Part read.
std::string NumberBytes(std::uint32_t number);
std::string PartBytes(std::string_view part);

/// A folder of this process for files to read; in memory if possible.
const std::string& Scratch();
void WriteFile(const std::string& path, std::string_view content);

}  // namespace baton::fuzz
