// A temporary Prometheus for one test. It scrapes nodes every 500 ms, and tests query it.
//
// It listens on a free loopback port, keeps its data in the given folder, and ends with this object
// or with the thread that made it. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/subprocess.h"

namespace baton::e2e {

/// One series as Prometheus stored it: labels (with `__name__`) and samples, oldest first.
struct StoredSeries {
  std::map<std::string, std::string> labels;
  std::vector<std::pair<double, double>> samples;  ///< unix seconds and value

  std::string label(const std::string& name) const;
  /// The last sample's value.
  double last() const { return samples.back().second; }
};

class Prometheus {
 public:
  /// Starts it. Ends the test (by an Unmet) if that fails. REQUIRES: `folder` exists.
  explicit Prometheus(const std::string& folder);

  /// Scrapes these nodes from now on: /metrics and /metrics/shards on each node's HTTP port, with
  /// the node's id as label `instance`. The label `port` gives each process series of its own.
  /// Nodes that are left out are no longer scraped; their samples stay.
  void Scrape(const std::map<std::string, std::uint16_t>& nodes);

  /// All stored samples of a selector, for example `baton_nodes{instance="n1"}`.
  std::vector<StoredSeries> Stored(const std::string& selector) const;
  /// An expression's present value, one sample for each series.
  std::vector<StoredSeries> Query(const std::string& expression) const;
  /// The present value of an expression with one series; 0 if it has none.
  double Value(const std::string& expression) const;

 private:
  bool Begin();
  bool Ready() const;
  std::vector<StoredSeries> Ask(const std::string& expression) const;

  const std::string folder_;
  std::uint16_t port_ = 0;
  std::unique_ptr<Subprocess> process_;
};

}  // namespace baton::e2e
