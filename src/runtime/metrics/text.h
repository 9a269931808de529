// TextCollectable: a collectable that also writes Prometheus' text format by itself, for series
// that are too many for a MetricFamily (40,000 of them cost 50 ms that way, and a tenth by hand).
#pragma once

#include <string>

#include <prometheus/collectable.h>

namespace baton::runtime {

class TextCollectable : public prometheus::Collectable {
 public:
  /// Appends what a serializer would make of Collect(): the same series in the same order.
  virtual void AppendText(std::string& out) const = 0;
};

}  // namespace baton::runtime
