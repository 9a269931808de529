// Rules for names and addresses in options, requests and records.
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
/// Whether `text` is a valid name: 1 to kLongestName ASCII letters, digits, '-', '_' or '.', but
/// not "." or "..". Names become parts of etcd's keys and of file names.
bool IsName(std::string_view text);

/// Whether all of `text` is visible ASCII without spaces (0x21 to 0x7e). Records, gRPC metadata and
/// logs carry such a text unchanged. True if `text` is empty.
bool IsVisibleAscii(std::string_view text);
/// Whether a record, a route or an option may have `text` as an address: at most kLongestAddress
/// bytes of visible ASCII. True if `text` is empty.
bool IsAddressText(std::string_view text);

/// Whether `pattern` is a pattern for names of certificates. Three forms are allowed: "*"; a whole
/// name (spiffe://DOMAIN/PATH, dns:NAME or cn:NAME, with no empty part); or the beginning of a
/// name, then "*". The beginning has at least spiffe://, dns: or cn:. No '/' follows directly after
/// spiffe://, and no other "*" is allowed.
bool IsCertificatePattern(std::string_view pattern);
/// The allowed forms, for the message about a text that IsCertificatePattern refuses.
inline constexpr std::string_view kCertificatePatterns =
    "spiffe://DOMAIN/PATH, dns:NAME or cn:NAME, or the beginning of one with a * at its end";
/// Whether a certificate's name (NameInCertificate in pem.h) fits a pattern. If the pattern ends in
/// "*", the name must begin with the text before the "*". Otherwise the name must equal the
/// pattern. An empty name never fits. Does not check the pattern.
bool FitsCertificatePattern(std::string_view name, std::string_view pattern);

}  // namespace baton
