// What names and addresses may consist of, wherever they come from: options, requests, records.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace baton {

inline constexpr std::size_t kLongestName = 128;     ///< bytes of a group's, node's or zone's name
inline constexpr std::size_t kLongestAddress = 512;  ///< bytes

/// What IsName expects, for refusals.
inline constexpr const char* kNameRule =
    "1 to 128 letters, digits, '-', '_' and '.', and neither \".\" nor \"..\"";
/// 1 to kLongestName ASCII letters, digits, '-', '_' or '.', and neither "." nor "..": part of
/// etcd's keys and of file names.
bool IsName(std::string_view text);

/// Whether all of `text` is ASCII that can be seen, without spaces (0x21 to 0x7e): what records,
/// gRPC metadata and logs carry unchanged, and what an address is made of. True if empty.
bool IsVisibleAscii(std::string_view text);

}  // namespace baton
