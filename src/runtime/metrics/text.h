// TextCollectable: a collectable that can write its series itself, in Prometheus' text format. With
// very many series, this is much faster than MetricFamily objects.
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
