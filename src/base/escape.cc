#include "base/escape.h"

#include <algorithm>
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

/// The character of a well-formed sequence of `length` bytes, as far as it is one that
/// AppendEscaped escapes: those have at most three.
unsigned CharacterOf(std::string_view bytes, std::size_t length) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  if (length == 1) return at(0);
  if (length == 2) return (at(0) & 0x1Fu) << 6 | (at(1) & 0x3Fu);
  if (length == 3) return (at(0) & 0x0Fu) << 12 | (at(1) & 0x3Fu) << 6 | (at(2) & 0x3Fu);
  return 0xFFFD;
}

bool Steers(unsigned character) {
  const auto between = [character](unsigned first, unsigned last) {
    return character >= first && character <= last;
  };
  return character < 0x20 || between(0x7F, 0x9F) || character == 0x061C ||
         between(0x200E, 0x200F) || between(0x2028, 0x202E) || between(0x2066, 0x2069);
}

void AppendSteering(std::string& out, unsigned character) {
  switch (character) {
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "\\u%04x", character);
  out += text.data();
}

}  // namespace

void AppendEscaped(std::string& out, std::string_view text, bool quoted) {
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    const std::size_t length = SequenceLength(text);
    const unsigned character = CharacterOf(text, length);
    if (Steers(character)) {
      AppendSteering(out, character);
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
  // No character gets shorter, so the rest would be cut off. It may be megabytes.
  AppendEscaped(line, text.substr(0, most + 4), false);
  if (line.size() <= most) return line;
  // Never within a character of UTF-8.
  while (most > 0 && (static_cast<unsigned char>(line[most]) & 0xC0) == 0x80) --most;
  return line.substr(0, most) + "...";
}

std::string OneLineWithin(std::string_view text, std::size_t size) {
  std::string line = OneLine(text, size);
  return line.size() <= size ? line : OneLine(text, size - 3);
}

std::string SafeJson(std::string json) {
  const auto other = [](char byte) { return static_cast<unsigned char>(byte) >= 0x7F; };
  std::string out;
  std::size_t copied = 0;
  for (auto at = std::find_if(json.begin(), json.end(), other); at != json.end();
       at = std::find_if(at, json.end(), other)) {
    const auto place = static_cast<std::size_t>(at - json.begin());
    const std::string_view rest = std::string_view(json).substr(place);
    const std::size_t length = SequenceLength(rest);
    const unsigned character = CharacterOf(rest, length);
    at += static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, length));
    if (!Steers(character)) continue;
    out.append(json, copied, place - copied);
    AppendSteering(out, character);
    copied = place + length;
  }
  if (copied == 0) return json;
  return out.append(json, copied, std::string::npos);
}

}  // namespace baton
