// Escapes arbitrary bytes to one line of text: for logs, tables, and messages with input in them.
//
// All functions escape the characters that could control a terminal, or could make a terminal show
// text in another order. These are:
//  - the control characters (C0, DEL, C1);
//  - the line and paragraph separators (U+2028, U+2029);
//  - the marks, embeddings, overrides and isolates of writing directions (U+061C, U+200E, U+200F,
//    U+202A to U+202E, U+2066 to U+2069).
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace baton {

/// Appends `text` to `out` as one line of valid UTF-8. Line feeds, carriage returns and tabs become
/// \n, \r and \t. The other characters above become \u and four hexadecimal digits (\u001b). Each
/// byte that is not part of valid UTF-8 becomes U+FFFD. If `quoted`, double quotes and backslashes
/// are escaped, too. Otherwise they stay as they are, so the result can't be decoded.
void AppendEscaped(std::string& out, std::string_view text, bool quoted);

/// The `most` of OneLine for messages that our programs print about their input.
inline constexpr std::size_t kLongestLine = 1000;

/// Escapes `text` as AppendEscaped does without `quoted`. If the result has more than `most` bytes,
/// cuts it to at most `most` bytes and appends "...". The cut is never within a UTF-8 character,
/// but may be within an escape (\u001b).
std::string OneLine(std::string_view text, std::size_t most);

/// Like OneLine, but the result has at most `size` bytes, including "...". REQUIRES (not checked):
/// `size` is 3 or more.
std::string OneLineWithin(std::string_view text, std::size_t size);

/// Returns the same document, but in its strings, the characters above become \uXXXX. All other
/// bytes stay as they are, even if they are not UTF-8. REQUIRES (not checked): `json` is JSON, and
/// its strings have no unescaped C0 character. (Libraries write such JSON.)
std::string SafeJson(std::string json);

}  // namespace baton
