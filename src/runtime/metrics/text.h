// TextCollectable: a collectable that can write Prometheus' text format itself. It is for series
// that are too many for a MetricFamily: 40,000 cost 50 ms that way, and a tenth of it by hand.
#pragma once

#include <string>

#include <prometheus/collectable.h>

namespace baton::runtime {

class TextCollectable : public prometheus::Collectable {
 public:
  /// Appends the text that a serializer would make of Collect(): the same series in the same order.
  virtual void AppendText(std::string& out) const = 0;
};

}  // namespace baton::runtime
