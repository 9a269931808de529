#include "e2e/leader_checker.h"

#include <gtest/gtest.h>

namespace baton::e2e {

void LeaderChecker::Check(const Answer& answer, const Table& table) {
  for (int shard = 0; shard < static_cast<int>(table.size()); ++shard) {
    const Row& row = table[static_cast<std::size_t>(shard)];
    if (row.leader.empty()) continue;
    const auto [named, first] = leaders_.try_emplace({shard, row.term}, row.leader);
    EXPECT_EQ(named->second, row.leader)
        << "two leaders of term " << row.term << " of shard " << shard << ", says " << answer.node;
    std::int64_t& told = told_[{answer.pid, shard}];
    EXPECT_GE(row.term, told) << answer.node << "'s terms of shard " << shard << " went back";
    told = row.term;
    if (row.leader == answer.node && row.state == "led") CheckOwn(answer, shard, row);
  }
}

void LeaderChecker::CheckOwn(const Answer& answer, int shard, const Row& row) {
  Led& newest = newest_[shard];
  if (row.term > newest.term) {
    newest = {.term = row.term, .node = answer.node, .since = answer.answered};
  } else if (row.term < newest.term) {
    EXPECT_LE(answer.asked - kPictureAge, newest.since)
        << answer.node << " leads shard " << shard << " with term " << row.term << " although "
        << newest.node << " led with " << newest.term << " before";
  }
}

}  // namespace baton::e2e
