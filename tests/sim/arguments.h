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

/// Sets what the words name. False: a word is none of these, or a number is missing or is none.
bool Read(const Arguments& arguments, int count, char** words);

}  // namespace baton::sim
