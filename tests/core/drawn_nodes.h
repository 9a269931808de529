// What the tests of standbys over random groups share.
#pragma once

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/facts.h"

namespace baton::core {

using Facts = std::map<NodeId, MemberFact>;

inline std::vector<const MemberFact*> Pointers(const Facts& facts) {
  std::vector<const MemberFact*> pointers;
  for (const auto& [id, fact] : facts) pointers.push_back(&fact);
  return pointers;
}

/// One of the values; earlier ones more often.
inline std::string Uneven(std::mt19937_64& random, const std::vector<std::string>& values) {
  return values[std::min(random() % values.size(), random() % values.size())];
}

}  // namespace baton::core
