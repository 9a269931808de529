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

/// Whether all of `text` is visible ASCII without spaces (0x21 to 0x7e). Records, gRPC metadata and
/// logs carry such a text unchanged. True if `text` is empty.
bool IsVisibleAscii(std::string_view text);
/// Whether a record, a route or an option may have `text` as an address: at most kLongestAddress
/// bytes of visible ASCII. True if `text` is empty.
bool IsAddressText(std::string_view text);

/// Whether `pattern` is a pattern for names of certificates: "*"; spiffe://DOMAIN/PATH, dns:NAME or
/// cn:NAME; or the beginning of one, at least spiffe://, dns: or cn:, and one "*" at its end.
bool IsCertificatePattern(std::string_view pattern);
/// For the message about a text that is no such pattern: says what is expected.
inline constexpr std::string_view kCertificatePatterns =
    "spiffe://DOMAIN/PATH, dns:NAME or cn:NAME, or the beginning of one with a * at its end";
/// Whether a certificate's name (NameInCertificate) fits a pattern: it is the same text, or the
/// pattern ends in "*" and the name begins with the text before the "*". An empty name never fits.
bool FitsCertificatePattern(std::string_view name, std::string_view pattern);

}  // namespace baton
