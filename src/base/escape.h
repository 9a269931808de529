// Escapes arbitrary bytes to one line of text: for logs, and for error messages that repeat input.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace baton {

/// Appends `text` so that it stays on one line and is valid UTF-8: line ends and control characters
/// are escaped, other bytes that are not UTF-8 become U+FFFD. If `quoted`, also escapes what may
/// not stand between double quotes.
void AppendEscaped(std::string& out, std::string_view text, bool quoted);

/// The most bytes of a message that batond or batonctl prints about what it was given.
inline constexpr std::size_t kLongestLine = 1000;

/// Escapes `text` like that, unquoted. Cuts what goes beyond `most` bytes, and ends it with "...".
std::string OneLine(std::string_view text, std::size_t most);

}  // namespace baton
