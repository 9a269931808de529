// Tokens: secrets by which callers identify themselves, in the header `authorization: Bearer T`. A
// node stores only the tokens' SHA-256.
//
// Pure; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace baton::access {

inline constexpr std::size_t kLongestToken = 4096;  ///< bytes; a node refuses longer ones
inline constexpr std::string_view kAuthorization = "authorization";

using Digest = std::array<std::uint8_t, 32>;

/// Returns the SHA-256.
Digest DigestOf(std::string_view bytes);
/// Reads 64 hexadecimal digits, in upper or lower case. nullopt: `hex` is anything else.
std::optional<Digest> DigestNamed(std::string_view hex);
/// Whether the digests are equal. How long the call takes does not depend on which bytes differ.
bool IsSame(const Digest& one, const Digest& other);

/// Returns the token in the value of an Authorization header. The result points into `header`. The
/// token is not checked: it may be empty, be longer than kLongestToken, have any bytes, and end
/// with spaces. It does not begin with a space. nullopt: the scheme is not Bearer, in upper or
/// lower case.
std::optional<std::string_view> TokenIn(std::string_view header);

}  // namespace baton::access
