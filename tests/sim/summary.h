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
  /// No violation, and more runs that count than not.
  bool good() const { return failed_.empty() && invalid_ * 2 < runs_; }
  std::string Text() const;
  std::chrono::nanoseconds took{};  ///< of real time; 0: not measured

 private:
  std::uint64_t runs_ = 0;
  std::uint64_t invalid_ = 0;
  std::string last_invalid_;
  FaultCounts faults_{};
  Observed observed_;
  Duration virtual_time_{};
  std::uint64_t events_ = 0;
  std::uint64_t last_hash_ = 0;
  std::vector<RunResult> failed_;
  std::vector<int> nodes_;
  std::vector<std::uint32_t> shards_;
  std::vector<std::uint64_t> changes_;
};

}  // namespace baton::sim
