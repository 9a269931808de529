// baton_rules: random sets of placement rules (requirements that exclude each other, pins,
// preferences, standbys, spread), each in a group whose nodes come and go. See rule_sets.h.
//
//   baton_rules [--sets N] [--from SEED]    a million sets from seed 1, unless told otherwise
//
// Exit codes: 0 nothing is wrong, 1 a fault, which it prints, 2 usage. If the core aborts, that is
// a fault, too.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "core/rule_sets.h"
#include "sim/arguments.h"

int main(int count, char** words) {
  constexpr std::uint64_t kSets = 1'000'000;
  std::optional<std::uint64_t> sets;
  std::optional<std::uint64_t> from;
  if (!baton::sim::Read({.flags = {}, .numbers = {{"--sets", &sets}, {"--from", &from}}}, count,
                        words)) {
    std::fputs("usage: baton_rules [--sets N] [--from SEED]\n", stderr);
    return 2;
  }
  const std::string wrong = baton::core::TryRuleSets(from.value_or(1), sets.value_or(kSets));
  if (!wrong.empty()) {
    std::printf("%s\n", wrong.c_str());
    return 1;
  }
  std::printf("%llu sets of rules, nothing is wrong\n",
              static_cast<unsigned long long>(sets.value_or(kSets)));
  return 0;
}
