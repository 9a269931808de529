// The result of a bench run: rows of values, and the demands that they are compared with.
//
// Plain values, one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace baton::bench {

/// One figure, measured several times.
class Series {
 public:
  Series() = default;
  explicit Series(std::vector<double> values) : values_(std::move(values)) {}

  void Add(double value) { values_.push_back(value); }
  bool empty() const { return values_.empty(); }
  const std::vector<double>& values() const { return values_; }
  /// REQUIRES (these three): not empty.
  double Median() const;
  double Least() const;
  double Greatest() const;

 private:
  std::vector<double> values_;
};

/// Each value of one divided by the other's value in the same repeat. REQUIRES: equally many.
Series Ratio(const Series& of, const Series& over);

struct Row {
  std::string part;  ///< "a" to "n"
  std::string what;
  std::string unit;
  Series values;
  std::string note = {};
};

/// One demand.
struct Demand {
  std::string what;
  std::string figure;  ///< which the demand is about
  std::string measured;
  bool passed = false;
};

class Report {
 public:
  void Add(Row row);
  void Judge(Demand demand) { demands_.push_back(std::move(demand)); }

  const std::vector<Row>& rows() const { return rows_; }
  const std::vector<Demand>& demands() const { return demands_; }

 private:
  std::vector<Row> rows_;
  std::vector<Demand> demands_;
};

/// The least value that `percent` of all values don't exceed. REQUIRES: not empty.
double Percentile(std::vector<double> values, unsigned percent);

/// Three significant digits, thousands separated: "0.0123", "12.3", "12,345".
std::string Short(double number);
/// "10,000"
std::string Grouped(std::uint64_t number);

}  // namespace baton::bench
