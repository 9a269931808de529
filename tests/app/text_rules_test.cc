// The characters that names and addresses may have.
#include "base/text_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace baton {
namespace {

TEST(TextRules, ANameIsPartOfKeysAndOfFileNames) {
  for (const char* const name : {"a", "n-1", "A.b_c", "0", "...", ".hidden", "a..b"}) {
    EXPECT_TRUE(IsName(name)) << name;
  }
  for (const char* const text : {"", ".", "..", "a/b", "a b", "a\n", "\x7f", "\xc3\xa9", "a:b"}) {
    EXPECT_FALSE(IsName(text)) << text;
  }
  EXPECT_FALSE(IsName(std::string("a\0b", 3)));
  EXPECT_TRUE(IsName(std::string(kLongestName, 'x')));
  EXPECT_FALSE(IsName(std::string(kLongestName + 1, 'x')));
}

// Plan: all 256 bytes, alone and between two valid ones.
TEST(TextRules, VisibleAsciiIsFromTheExclamationMarkToTheTilde) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string text(1, static_cast<char>(byte));
    EXPECT_EQ(IsVisibleAscii(text), byte >= 0x21 && byte <= 0x7e) << byte;
    EXPECT_EQ(IsVisibleAscii("a" + text + "b"), byte >= 0x21 && byte <= 0x7e) << byte;
  }
  EXPECT_TRUE(IsVisibleAscii(""));
}

// Plan: an exact name, a beginning of names, texts that are no pattern, and a name that
// is empty.
TEST(TextRules, ACertificatePatternIsANameOrTheBeginningOfNames) {
  for (const char* const pattern : {"spiffe://a/b", "spiffe://a/b/*", "dns:n1", "cn:x*", "*"}) {
    EXPECT_TRUE(IsCertificatePattern(pattern)) << pattern;
  }
  for (const char* const text :
       {"", "a", "spiffe://a/*/b", "**", "*a", "cn:**", "uri:spiffe://a",
        "cn:", "dns:", "spiffe://", "spiffe:///b", "spiffe:///*", "spiffe://a", "spiffe://a/"}) {
    EXPECT_FALSE(IsCertificatePattern(text)) << text;
  }
  EXPECT_TRUE(FitsCertificatePattern("cn:x", "cn:x"));
  EXPECT_FALSE(FitsCertificatePattern("cn:xy", "cn:x"));
  EXPECT_FALSE(FitsCertificatePattern("cn:X", "cn:x"));
  EXPECT_TRUE(FitsCertificatePattern("spiffe://a/b/", "spiffe://a/b/*"));
  EXPECT_TRUE(FitsCertificatePattern("spiffe://a/b/c/d", "spiffe://a/b/*"));
  EXPECT_FALSE(FitsCertificatePattern("spiffe://a/bc", "spiffe://a/b/*"));
  EXPECT_TRUE(FitsCertificatePattern("dns:n1", "*"));
  EXPECT_FALSE(FitsCertificatePattern("", "*"));
}

}  // namespace
}  // namespace baton
