// Tokens: secrets that callers send to say who they are, in the header `authorization: Bearer T`.
//
// A node knows only their SHA-256. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace baton::access {

inline constexpr std::size_t kLongestToken = 4096;  ///< bytes
inline constexpr std::string_view kAuthorization = "authorization";

using Digest = std::array<std::uint8_t, 32>;

/// SHA-256.
Digest DigestOf(std::string_view bytes);
/// Reads 64 hexadecimal digits, in upper or lower case; nullopt: it is something else.
std::optional<Digest> DigestNamed(std::string_view hex);
/// Takes the same time whichever bytes differ.
bool IsSame(const Digest& one, const Digest& other);

/// The token in the header `authorization`, any bytes or none, as a part of `header`; nullopt:
/// another scheme than Bearer.
std::optional<std::string_view> TokenIn(std::string_view header);

}  // namespace baton::access
