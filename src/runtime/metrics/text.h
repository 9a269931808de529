// TextCollectable: a collectable that can also write Prometheus' text format itself. It is for
// collectables with too many series for a MetricFamily: 40,000 series take 50 ms to write from a
// MetricFamily, and 5 ms as text.
#pragma once

#include <string>

#include <prometheus/collectable.h>

namespace baton::runtime {

class TextCollectable : public prometheus::Collectable {
 public:
  /// Appends the text that a serializer would make of Collect(): the same series in the same order.
  /// Any thread may call it, as with Collect().
  virtual void AppendText(std::string& out) const = 0;
};

}  // namespace baton::runtime
