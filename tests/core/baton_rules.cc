// baton_rules: random sets of placement rules (requirements that exclude each other, pins,
// preferences, standbys, spread), each in a group whose nodes come and go (rule_sets.h); or random
// groups with ready standbys in which a leader dies (dead_leaders.h).
//
//   baton_rules [--sets N] [--from SEED]     a million sets from seed 1, unless told otherwise
//   baton_rules --deaths N [--from SEED]     so many groups
//
// Exit codes: 0 nothing is wrong, 1 a fault, which it prints, 2 usage. If the core aborts, that is
// a fault, too.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

#include "core/dead_leaders.h"
#include "core/rule_sets.h"
#include "sim/arguments.h"

namespace baton::core {
namespace {

int TryDeaths(std::uint64_t from, std::uint64_t groups) {
  const DeadLeaders found = TryDeadLeaders(from, groups);
  if (!found.wrong.empty()) {
    std::printf("%s\n", found.wrong.c_str());
    return 1;
  }
  for (std::size_t by = 0; by < kHeirsBy; ++by) {
    const JudgedDeaths& judged = found.judged[by];
    std::printf("%-8s %6llu groups, %7llu nodes judged: at most %.2f of %s\n",
                ToString(HeirsBy(by)), static_cast<unsigned long long>(judged.groups),
                static_cast<unsigned long long>(judged.nodes), judged.most,
                HeirsBy(by) == HeirsBy::kAnyNode ? "the target" : "the fair share");
  }
  return 0;
}

int TrySets(std::uint64_t from, std::uint64_t sets) {
  const std::string wrong = TryRuleSets(from, sets);
  if (!wrong.empty()) {
    std::printf("%s\n", wrong.c_str());
    return 1;
  }
  std::printf("%llu sets of rules, nothing is wrong\n", static_cast<unsigned long long>(sets));
  return 0;
}

}  // namespace
}  // namespace baton::core

int main(int count, char** words) {
  constexpr std::uint64_t kSets = 1'000'000;
  std::optional<std::uint64_t> sets;
  std::optional<std::uint64_t> deaths;
  std::optional<std::uint64_t> from;
  const baton::sim::Arguments known{
      .flags = {}, .numbers = {{"--sets", &sets}, {"--deaths", &deaths}, {"--from", &from}}};
  if (!baton::sim::Read(known, count, words) || (sets && deaths)) {
    std::fputs("usage: baton_rules [--sets N | --deaths N] [--from SEED]\n", stderr);
    return 2;
  }
  if (deaths) return baton::core::TryDeaths(from.value_or(1), *deaths);
  return baton::core::TrySets(from.value_or(1), sets.value_or(kSets));
}
