#include "access/tokens.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "base/check.h"

namespace baton::access {

Digest DigestOf(std::string_view bytes) {
  Digest digest{};
  unsigned size = 0;
  BATON_CHECK(EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, EVP_sha256(), nullptr) ==
              1);
  BATON_CHECK(size == digest.size());
  return digest;
}

std::optional<Digest> DigestNamed(std::string_view hex) {
  Digest digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* const begin = hex.data() + 2 * i;
    const auto [end, failed] = std::from_chars(begin, begin + 2, digest[i], 16);
    if (failed != std::errc() || end != begin + 2) return std::nullopt;
  }
  return digest;
}

bool IsSame(const Digest& one, const Digest& other) {
  return CRYPTO_memcmp(one.data(), other.data(), one.size()) == 0;
}

std::optional<std::string_view> TokenIn(std::string_view header) {
  constexpr std::string_view kScheme = "bearer";
  const auto same = [](char given, char wanted) {
    return given == wanted || (given >= 'A' && given <= 'Z' && given - 'A' + 'a' == wanted);
  };
  if (header.size() < kScheme.size() ||
      !std::equal(kScheme.begin(), kScheme.end(), header.begin(),
                  [&](char wanted, char given) { return same(given, wanted); })) {
    return std::nullopt;
  }
  header.remove_prefix(kScheme.size());
  if (!header.empty() && header.front() != ' ') return std::nullopt;  // "bearers"
  const auto first = header.find_first_not_of(' ');
  return first == std::string_view::npos ? std::string_view() : header.substr(first);
}

}  // namespace baton::access
