#include "bench/report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/check.h"

namespace baton::bench {

double Series::Median() const {
  BATON_CHECK(!values_.empty());
  std::vector<double> sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

double Series::Least() const {
  BATON_CHECK(!values_.empty());
  return *std::min_element(values_.begin(), values_.end());
}

double Series::Greatest() const {
  BATON_CHECK(!values_.empty());
  return *std::max_element(values_.begin(), values_.end());
}

Series Ratio(const Series& of, const Series& over) {
  BATON_CHECK(of.values().size() == over.values().size());
  Series ratio;
  for (std::size_t i = 0; i < of.values().size(); ++i) {
    ratio.Add(of.values()[i] / over.values()[i]);
  }
  return ratio;
}

// Printed at once, since a run takes minutes.
void Report::Add(Row row) {
  BATON_CHECK(!row.values.empty());
  std::printf("%-2s %-58s %10s  (%s .. %s) %s%s%s\n", row.part.c_str(), row.what.c_str(),
              Short(row.values.Median()).c_str(), Short(row.values.Least()).c_str(),
              Short(row.values.Greatest()).c_str(), row.unit.c_str(), row.note.empty() ? "" : "; ",
              row.note.c_str());
  std::fflush(stdout);
  rows_.push_back(std::move(row));
}

double Percentile(std::vector<double> values, unsigned percent) {
  BATON_CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const std::size_t rank = (values.size() * percent + 99) / 100;
  return values[std::max<std::size_t>(rank, 1) - 1];
}

std::string Grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string Short(double number) {
  if (std::abs(number) >= 1000) {
    const std::string sign = number < 0 ? "-" : "";
    return sign + Grouped(static_cast<std::uint64_t>(std::llround(std::abs(number))));
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

}  // namespace baton::bench
