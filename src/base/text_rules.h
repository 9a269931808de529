// Rules for names and addresses, wherever they come from: options, requests, records.
//
// Pure; any thread.
#pragma once

#include <cstddef>
#include <string_view>

namespace baton {

inline constexpr std::size_t kLongestName = 128;     ///< bytes of a group's, node's or zone's name
inline constexpr std::size_t kLongestAddress = 512;  ///< bytes

/// The rule of IsName in words, for error messages.
inline constexpr const char* kNameRule =
    "1 to 128 letters, digits, '-', '_' and '.', and neither \".\" nor \"..\"";
/// Whether `text` is a valid name: 1 to kLongestName ASCII letters, digits, '-', '_' or '.', and
/// neither "." nor "..". Names become parts of etcd's keys and of file names.
bool IsName(std::string_view text);

/// Whether all of `text` is visible ASCII without spaces (0x21 to 0x7e): records, gRPC metadata and
/// logs carry it unchanged, and addresses consist of it. True if empty.
bool IsVisibleAscii(std::string_view text);
/// Whether a record, a route or an option may have `text` as an address: at most kLongestAddress
/// bytes of visible ASCII. True if empty.
bool IsAddressText(std::string_view text);

/// Whether `pattern` may stand for names of certificates: spiffe://..., dns:... or cn:..., with "*"
/// as its last character at most, or "*" alone.
bool IsCertificatePattern(std::string_view pattern);
/// Whether a certificate of this name (NameInCertificate) is meant: it is the pattern, byte by
/// byte, or begins as the pattern does before its "*". An empty name is never meant.
bool FitsCertificatePattern(std::string_view name, std::string_view pattern);

}  // namespace baton
