// The JSON of a cause: {"kind":"ready_standby","rule":1,"detail":"zone=b",
// "words":"ready standby in zone b"}. `rule` is null if no rule decided, `detail` if there is
// nothing to add. It is API wherever it appears. Pure; any thread.
#pragma once

#include <boost/json/value.hpp>

#include "baton/cause.h"

namespace baton::http {

/// Null: the cause is not known.
boost::json::value CauseValue(const Cause& cause);

}  // namespace baton::http
