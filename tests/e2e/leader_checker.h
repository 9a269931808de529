// LeaderChecker: checks what can be checked about leaders from outside, by asking one node after
// another.
//
// It checks at every look:
//  - all nodes name the same leader for a term of a shard;
//  - the terms that one process shows for a shard never go back;
//  - a node is a second leader if it says that it leads with an older term, in a status made after
//    another node's answer that it leads with a newer one.
// It does not check overlapping answers, as that would be unsound. Other nodes may show a node as
// leader before or after it leads, a shard that is "moving" may have arrived already, and two nodes
// are never asked at the same instant. The demo's write probe and the simulator show that no two
// nodes lead at one instant.
//
// One thread at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace baton::e2e {

struct Row {
  std::string leader;  ///< empty: nobody
  std::int64_t term = 0;
  std::string state;
  friend bool operator==(const Row&, const Row&) = default;
};
/// By shard.
using Table = std::vector<Row>;

/// The process that showed a table, and when it was asked.
struct Answer {
  std::string node;
  int pid = 0;  ///< its process id
  TimePoint asked;
  TimePoint answered;
};

class LeaderChecker {
 public:
  /// How old a status may be when a node answers (runtime::Control::GetStatus).
  static constexpr std::chrono::milliseconds kPictureAge{50};

  void Check(const Answer& answer, const Table& table);

 private:
  struct Led {
    std::int64_t term = 0;
    std::string node;
    TimePoint since;  ///< when its first answer came
  };
  void CheckOwn(const Answer& answer, int shard, const Row& row);

  std::map<std::pair<int, std::int64_t>, std::string> leaders_;  ///< by shard and term
  std::map<std::pair<int, int>, std::int64_t> told_;             ///< newest, by process and shard
  std::map<int, Led> newest_;  ///< by shard, as its leader showed it
};

}  // namespace baton::e2e
