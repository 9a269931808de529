// What a fuzz target is: a function of bytes that aborts, after one line on stderr, where something
// that must hold does not.
//
// Each fuzz_NAME.cc has one. The same functions run under libFuzzer (fuzz.cc) and on the corpora
// kept (replay.cc), in builds with sanitizers. They have no state but what their input makes, so
// that an input says all about a failure.
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
  /// Few, small, and well-formed: where a search begins.
  std::vector<Seed> (*seeds)();
};

/// By name.
std::span<const Target> Targets();
/// Null: none of that name.
const Target* FindTarget(std::string_view name);

/// Aborts where `held` is false, after a line with `what` must hold and what was `seen` instead.
void Must(bool held, std::string_view what, std::string_view seen = {});

/// Words for people keep to one line, without control characters, and to a length.
void MustBeOneLine(std::string_view words);
/// The text parses as JSON.
void MustBeJson(std::string_view text);

/// Takes an input apart from its front. Past the end all is zero and empty.
class Input {
 public:
  explicit Input(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  std::uint8_t Byte();
  /// Below `bound`, which is at most 256.
  std::size_t Choice(std::size_t bound) { return Byte() % bound; }
  std::uint32_t Number();
  std::string_view Take(std::size_t size);
  /// Two bytes with the length, then that many. For several messages in one input.
  std::string_view Part();
  std::string_view Rest() { return Take(rest_.size()); }

 private:
  std::string_view rest_;
};

/// What Input::Number and Input::Part read.
std::string NumberBytes(std::uint32_t number);
std::string PartBytes(std::string_view part);

/// A folder of this process in memory, where there is one, for what is read from files.
const std::string& Scratch();
void WriteFile(const std::string& path, std::string_view content);

}  // namespace baton::fuzz
