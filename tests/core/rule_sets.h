// RuledGroup: a view of a group whose placement rules, nodes and records change at random. After
// each change it checks what the core makes of it: who gets vacancies, what moves, who stands by.
//
// The same seed gives the same group on every machine.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/assignment_of_view.h"
#include "core/assignment_views.h"
#include "core/view.h"

namespace baton::core {

class RuledGroup {
 public:
  explicit RuledGroup(std::uint64_t seed);
  /// Gives the group another set of rules, and then changes nodes and records a few times. Returns
  /// the first fault that it finds; empty: there is none.
  std::string TryRules();
  /// The present rules, for messages.
  std::string RulesInWords() const;

 private:
  static constexpr std::uint32_t kNodes = 7;
  static constexpr std::uint32_t kShards = 12;

  LabelTerms DrawTerms();
  Placement DrawRules();
  void Show(Fact fact);
  template <typename Key>
  Key Written(Key key);
  void ChangeSomething();
  void ComeOrGo(std::uint32_t number);
  void DrainOrUndrain(const NodeId& node);
  void ChangeRecord(ShardId shard);
  void CarryOut(const AssignmentOfView& seen, const Assignment& assignment);
  std::string Check();
  std::string CheckClaims(const AssignmentOfView& seen, const Assignment& assignment) const;
  std::string CheckMoves(const AssignmentOfView& seen) const;
  std::string CheckStandbys(ShardId shard) const;

  Dice dice_;
  View view_{kShards, NodeName(0)};
  TimePoint now_{std::chrono::seconds(1000)};
  std::int64_t last_ = 1;  ///< the newest revision, and the newest session
};

/// Tries so many sets of rules, in groups of the seeds from `seed` on. Returns the first fault,
/// with its seed and its rules; empty: there is none.
std::string TryRuleSets(std::uint64_t seed, std::uint64_t sets);

}  // namespace baton::core
