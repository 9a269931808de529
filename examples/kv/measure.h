// What a load did, second by second. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace kv {

using SteadyTime = std::chrono::steady_clock::time_point;

struct Attempted {
  SteadyTime due;  ///< when it should have begun: waiting behind a slow one counts
  SteadyTime done;
  int error = 0;        ///< 0: done; else the status's code
  std::string message;  ///< where it failed
};

class Measure {
 public:
  explicit Measure(SteadyTime begun) : begun_(begun) {}

  void Add(const Attempted& attempted);
  /// A line for each second, then percentiles, errors by status, and the longest time in which no
  /// request at all was answered well.
  void Print();
  /// A line for each failure: when it was due and when it was over, as seconds of CLOCK_MONOTONIC,
  /// so that another program can say what it fell into. False: the file can't be written.
  bool WriteFailures(const std::string& path);
  std::uint64_t done();
  std::uint64_t failed();

 private:
  struct Second {
    std::vector<double> milliseconds;
    std::uint64_t failed = 0;
  };
  const SteadyTime begun_;
  std::mutex mutex_;  // below
  std::map<std::int64_t, Second> seconds_;
  struct Failures {
    std::uint64_t count = 0;
    std::string first;  ///< message
  };
  std::map<int, Failures> errors_;  ///< by code
  std::vector<SteadyTime> answered_;
  std::vector<std::pair<SteadyTime, SteadyTime>> failures_;  // due and done
  std::uint64_t failed_ = 0;
};

}  // namespace kv
