// Strict parsing of a JSON document that a person wrote: errors name line and column, and a key
// that an object repeats is refused (parsers keep one of the two and say nothing).
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "baton/result.h"

namespace baton::app {

/// The document's value, or one line such as `line 3, column 7: syntax error`.
Result<boost::json::value> ParseJsonDocument(std::string_view text);

/// The value as JSON on one line, cut after 40 bytes; "an object" and "an array" for those.
std::string Quote(const boost::json::value& value);

}  // namespace baton::app
