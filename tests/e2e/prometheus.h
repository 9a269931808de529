// A throw-away Prometheus of a test's own, scraping nodes every 500 ms, and what it stored.
//
// It listens on a free loopback port and keeps its data in the folder it is given. Ends with this
// object, or with the thread that made it. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/subprocess.h"

namespace baton::e2e {

/// One series as Prometheus stored it: labels (also `__name__`) and samples, oldest first.
struct StoredSeries {
  std::map<std::string, std::string> labels;
  std::vector<std::pair<double, double>> samples;  ///< unix seconds and value

  std::string label(const std::string& name) const;
  /// A counter's value when it was last seen.
  double last() const { return samples.back().second; }
};

class Prometheus {
 public:
  /// Ends the test (by an Unmet) where none can be started. REQUIRES: `folder` exists.
  explicit Prometheus(const std::string& folder);

  /// From now on these are scraped: the HTTP port of each node, /metrics and /metrics/shards, with
  /// the node's id as label `instance` and its port as label `port`: another process has series of
  /// its own. Those left out are gone, their samples stay.
  void Scrape(const std::map<std::string, std::uint16_t>& nodes);

  /// All samples that it has of a selector, for example `baton_nodes{instance="n1"}`.
  std::vector<StoredSeries> Stored(const std::string& selector) const;
  /// An expression's value now, one sample a series.
  std::vector<StoredSeries> Query(const std::string& expression) const;
  /// The same, of an expression with one series; 0 where there is none.
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
