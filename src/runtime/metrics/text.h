// TextCollectable: a collectable that can also write Prometheus' text format itself. It is for
// collectables with very many series: to write 40,000 series takes 50 ms by way of a MetricFamily,
// and 5 ms as text.
#pragma once

#include <string>

#include <prometheus/collectable.h>

namespace baton::runtime {

class TextCollectable : public prometheus::Collectable {
 public:
  /// Appends the series of Collect(), in the same order, as text. The same threads may call it as
  /// Collect().
  virtual void AppendText(std::string& out) const = 0;
};

}  // namespace baton::runtime
