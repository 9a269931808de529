// Reads "--name value" pairs, each with a default. Anything else is an error in one line.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kv {

using Flags = std::map<std::string, std::string, std::less<>>;

[[noreturn]] inline void Fail(const std::string& why, int code = 2) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::exit(code);
}

inline Flags ParseFlags(int argc, char** argv, Flags flags) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    const auto found = name.starts_with("--") ? flags.find(name.substr(2)) : flags.end();
    if (found == flags.end()) {
      std::string expected;
      for (const auto& [flag, value] : flags) expected += " --" + flag;
      Fail("unknown argument '" + std::string(name) + "'; expected:" + expected);
    }
    if (i + 1 == argc) Fail("no value after " + std::string(name));
    found->second = argv[i + 1];
  }
  return flags;
}

/// Reads a whole number from `least` to `most`.
inline long NumberOf(const Flags& flags, std::string_view name, long least, long most) {
  const std::string& text = flags.find(name)->second;
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || number < least || number > most) {
    Fail("--" + std::string(name) + " is '" + text + "'; expected a number from " +
         std::to_string(least) + " to " + std::to_string(most));
  }
  return number;
}

inline std::vector<std::string> ListOf(const Flags& flags, std::string_view name) {
  std::vector<std::string> items;
  std::string item;
  for (const char c : flags.find(name)->second + ",") {
    if (c != ',') {
      item += c;
    } else if (!item.empty()) {
      items.push_back(std::exchange(item, {}));
    }
  }
  if (items.empty()) Fail("--" + std::string(name) + " is empty");
  return items;
}

}  // namespace kv
