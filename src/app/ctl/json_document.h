// Strict parsing of a JSON document that a person wrote. Errors name line and column. A key that an
// object has twice is refused (other parsers silently keep one of the two).
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "baton/result.h"

namespace baton::app {

/// Returns the document's value, or an error such as `line 3, column 7: syntax error`.
Result<boost::json::value> ParseJsonDocument(std::string_view text);

/// Returns a value as one line of JSON, cut after 40 bytes; for objects and arrays "an object" and
/// "an array".
std::string Quote(const boost::json::value& value);

}  // namespace baton::app
