// The arguments of the simulator's programs: "--flag", and "--name N" with N a number.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace baton::sim {

struct Arguments {
  std::map<std::string, bool*> flags;
  std::map<std::string, std::optional<std::uint64_t>*> numbers;
};

/// Sets what the words name. Returns false if a word is not one of these names, or a name is not
/// followed by a number.
bool Read(const Arguments& arguments, int count, char** words);

}  // namespace baton::sim
