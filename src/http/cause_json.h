// The JSON of a cause, for example {"kind":"ready_standby","rule":1,"detail":"zone=b",
// "words":"ready standby in zone b"}. `rule` is null if no rule decided. `detail` is null if the
// cause has no detail. The fields are API of each document that has a cause. Pure; any thread.
#pragma once

#include <boost/json/value.hpp>

#include "baton/cause.h"

namespace baton::http {

/// Returns the JSON; null if the cause is not known.
boost::json::value CauseValue(const Cause& cause);

}  // namespace baton::http
