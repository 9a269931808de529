// What can be said about leaders from outside, by asking one node after another.
//
// Sound, and checked at every look:
//  - a term of a shard names one leader, whichever node tells of it;
//  - the terms that one process tells of a shard never go back;
//  - a node that says of itself "led" with an older term, in a picture made after another node's
//    answer that it led with a newer one, is a second leader.
// Not sound, and so not checked: overlapping answers. A node may be told of as a leader by others
// before or after it is one, a shard on its way ("moving") may have arrived already, and two nodes
// are never asked at the same instant. That no two lead at one instant is shown by the demo's write
// probe and by the simulator.
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

/// Who showed a table, and when.
struct Answer {
  std::string node;
  int pid = 0;  ///< of its process
  TimePoint asked;
  TimePoint answered;
};

class LeaderChecker {
 public:
  /// How old a picture may be when it is asked for (runtime::Control::GetStatus).
  static constexpr std::chrono::milliseconds kPictureAge{50};

  void Check(const Answer& answer, const Table& table);

 private:
  struct Led {
    std::int64_t term = 0;
    std::string node;
    TimePoint since;  ///< when its first answer was there
  };
  void CheckOwn(const Answer& answer, int shard, const Row& row);

  std::map<std::pair<int, std::int64_t>, std::string> leaders_;  ///< by shard and term
  std::map<std::pair<int, int>, std::int64_t> told_;             ///< newest, by process and shard
  std::map<int, Led> newest_;  ///< by shard, as its leader told it
};

}  // namespace baton::e2e
