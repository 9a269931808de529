// Summary: many runs' results in one text.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "sim/simulation.h"

namespace baton::sim {

class Summary {
 public:
  void Add(const RunResult& result);
  /// No run failed, most runs count, medians are high enough (if there are enough runs for one),
  /// and no impossible cell was hit.
  bool good() const { return failed_.empty() && invalid_ * 2 < runs_ && Shortfalls().empty(); }
  std::string Text() const;
  /// Fault x phase, in markdown.
  std::string Table() const { return TableText(fault_table_, faults_); }
  const FaultTable& fault_table() const { return fault_table_; }
  /// Says why the runs don't count as evidence, one line for each reason.
  std::vector<std::string> Shortfalls() const;
  std::vector<std::string> UnjudgedStandbys() const;
  /// How often standbys were judged.
  std::string StandbyText() const;
  /// The harm that storms did or might have done.
  std::string StormText() const;
  std::chrono::nanoseconds took{};  ///< of real time; 0: not measured

 private:
  std::uint64_t runs_ = 0;
  std::uint64_t invalid_ = 0;
  std::string last_invalid_;
  FaultCounts faults_{};
  FaultTable fault_table_;
  Observed observed_;
  bool storms_ = false;  ///< the runs have storms instead of mishaps
  Duration virtual_time_{};
  std::uint64_t events_ = 0;
  std::uint64_t hash_ = 0;  ///< of all traces
  std::vector<RunResult> failed_;
  std::vector<int> nodes_;
  std::vector<std::uint32_t> shards_;
  std::vector<std::uint64_t> changes_;
  std::vector<std::uint64_t> lengths_;  ///< virtual seconds
};

}  // namespace baton::sim
