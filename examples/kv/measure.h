// Records the requests of a load, second by second. Thread-safe.
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
  SteadyTime due;  ///< when it should have begun: waiting for a slow one counts
  SteadyTime done;
  int error = 0;        ///< 0: done; else the status's code
  std::string message;  ///< if it failed: the status's message
};

class Measure {
 public:
  explicit Measure(SteadyTime begun) : begun_(begun) {}

  void Add(const Attempted& attempted);
  /// Prints a line for each second, then percentiles, errors by status, and the longest time
  /// without any successful answer.
  void Print();
  /// Writes a line for each failure: when the request was due and when it ended, in seconds of
  /// CLOCK_MONOTONIC, so that another program can find the cause. False: the file can't be written.
  bool WriteFailures(const std::string& path);
  std::uint64_t done();
  std::uint64_t failed();

 private:
  struct Second {
    std::vector<double> milliseconds;
    std::uint64_t failed = 0;
  };
  const SteadyTime begun_;
  std::mutex mutex_;  // guards what follows
  std::map<std::int64_t, Second> seconds_;
  struct Failures {
    std::uint64_t count = 0;
    std::string first;  ///< the first one's message
  };
  std::map<int, Failures> errors_;  ///< by code
  std::vector<SteadyTime> answered_;
  std::vector<std::pair<SteadyTime, SteadyTime>> failures_;  // due and done
  std::uint64_t failed_ = 0;
};

}  // namespace kv
