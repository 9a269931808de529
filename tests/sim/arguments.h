// The arguments of the simulator's programs: "--flag", "--name N" with N a number, and "--name
// WORD".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace baton::sim {

struct Arguments {
  std::map<std::string, bool*> flags;
  std::map<std::string, std::optional<std::uint64_t>*> numbers;
  std::map<std::string, std::optional<std::string>*> words = {};
};

/// Sets what the words name. Returns false if a word is not one of these names, or a name is not
/// followed by its number or word.
bool Read(const Arguments& arguments, int count, char** words);

}  // namespace baton::sim
