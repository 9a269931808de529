#include "base/escape.h"

#include <array>
#include <cstdio>

namespace baton {
namespace {

/// Length of the well-formed UTF-8 sequence at the front of `bytes`; 0 if there is none.
std::size_t SequenceLength(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = at(0);
  if (lead < 0x80) return 1;
  std::size_t length = 0;
  unsigned char low = 0x80, high = 0xBF;  // bounds of the second byte: no overlong, no surrogate
  if (lead >= 0xC2 && lead <= 0xDF) length = 2;
  if (lead >= 0xE0 && lead <= 0xEF) length = 3;
  if (lead >= 0xF0 && lead <= 0xF4) length = 4;
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  if (length == 0 || bytes.size() < length || at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if (at(i) < 0x80 || at(i) > 0xBF) return 0;
  }
  return length;
}

void AppendControl(std::string& out, unsigned char byte) {
  switch (byte) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", byte);
  out += text.data();
}

}  // namespace

void AppendEscaped(std::string& out, std::string_view text, bool quoted) {
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = SequenceLength(text);
    if (byte < 0x20 || byte == 0x7F) {
      AppendControl(out, byte);
    } else if (quoted && (byte == '"' || byte == '\\')) {
      out += '\\';
      out += text.front();
    } else if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

std::string OneLine(std::string_view text, std::size_t most) {
  std::string line;
  AppendEscaped(line, text, false);
  if (line.size() <= most) return line;
  // Never within a character of UTF-8.
  while (most > 0 && (static_cast<unsigned char>(line[most]) & 0xC0) == 0x80) --most;
  return line.substr(0, most) + "...";
}

}  // namespace baton
