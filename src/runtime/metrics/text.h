// TextCollectable: a collectable that can itself write its series in Prometheus' text format. It is
// for collectables with very many series. To make MetricFamily objects of 40,000 series and then
// write them takes 50 ms; AppendText takes 5 ms.
#pragma once

#include <string>

#include <prometheus/collectable.h>

namespace baton::runtime {

class TextCollectable : public prometheus::Collectable {
 public:
  /// Appends the series of Collect() to `out` as text, in the same order, with the lines # HELP and
  /// # TYPE. Appends nothing if Collect() would return no families. The threads that may call
  /// Collect() may call AppendText.
  virtual void AppendText(std::string& out) const = 0;
};

}  // namespace baton::runtime
