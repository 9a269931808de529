// The JSON of a cause: {"kind":"ready_standby","rule":1,"detail":"zone=b",
// "words":"ready standby in zone b"}. `rule` is null if no rule decided. `detail` is null if there
// is nothing to add. The fields are API in each document that has them. Pure; any thread.
#pragma once

#include <boost/json/value.hpp>

#include "baton/cause.h"

namespace baton::http {

/// Null: the cause is not known.
boost::json::value CauseValue(const Cause& cause);

}  // namespace baton::http
