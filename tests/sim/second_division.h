// A second division function for tests of upgrades. It divides as the first one would if the
// members' names were in reverse order. So it fills vacancies with other members, and keeps all
// that the first promises.
#pragma once

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/division.h"

namespace baton::core {

inline DivisionInput Reversed(DivisionInput input) {
  std::vector<DivisionMember*> by_id;
  for (DivisionMember& member : input.members) by_id.push_back(&member);
  std::sort(by_id.begin(), by_id.end(), [](const auto* a, const auto* b) { return a->id > b->id; });
  for (std::size_t place = 0; place < by_id.size(); ++place) {
    char name[24];
    std::snprintf(name, sizeof name, "%06zu", place);
    by_id[place]->id = name;
  }
  return input;
}

inline constexpr DivisionFunction kSecondDivision{
    2, [](const DivisionInput& input) { return Divide(Reversed(input)); },
    [](const DivisionInput& input, const std::vector<bool>& movable, std::size_t limit) {
      return PlanMoves(Reversed(input), movable, limit);
    }};

}  // namespace baton::core
