// Parses a JSON document that a person wrote. Errors name the line, and the column in bytes, both
// from 1.
//
// Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include <boost/json/value.hpp>

#include "baton/result.h"

namespace baton::app {

/// Returns the document's value. kInvalidArgument: the text is not one JSON document, has a key
/// twice, or has more than 32 levels of arrays and objects. A message is, for example, `line 3,
/// column 7: not JSON (syntax error)`.
Result<boost::json::value> ParseJsonDocument(std::string_view text);

/// Returns a value as one line of JSON for a message. A long line is cut to 40 bytes and "...".
/// Returns "an object" for any object, and "an array" for any array.
std::string Quote(const boost::json::value& value);

}  // namespace baton::app
