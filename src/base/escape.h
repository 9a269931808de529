// Any bytes as words on one line: for logs, and for what is said to whoever gave them.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace baton {

/// Appends `text` so that it stays on one line and is valid UTF-8: line ends and control characters
/// are escaped, other bytes become U+FFFD. With `quoted`, also fit to stand between double quotes.
void AppendEscaped(std::string& out, std::string_view text, bool quoted);

/// `text` like that; what goes beyond `most` bytes is cut, and ends with "...".
std::string OneLine(std::string_view text, std::size_t most);

}  // namespace baton
