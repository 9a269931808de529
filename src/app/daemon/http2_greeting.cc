#include "app/daemon/http2_greeting.h"

#include <algorithm>
#include <cstdint>

#include "base/grpc/server_limits.h"

namespace baton::app {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
constexpr std::size_t kHead = 9;               // bytes of a frame's head
constexpr std::size_t kLongestFrame = 16'384;  // RFC 9113, until we allow more
// An honest client has sent a request or two by then: some frames each.
constexpr std::size_t kMaxFrames = 256;
constexpr std::uint8_t kHeaders = 1;
constexpr std::uint8_t kSettings = 4;
constexpr std::uint8_t kContinuation = 9;
constexpr std::uint8_t kAck = 1;
constexpr std::uint8_t kMaxConcurrentStreams = 3;
constexpr std::uint8_t kMaxHeaderListSize = 6;

struct Head {
  std::size_t length = 0;
  std::uint8_t type = 0;
  std::uint8_t flags = 0;
};

Head HeadAt(std::string_view bytes) {
  const auto byte = [bytes](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  return {.length = std::size_t{byte(0)} << 16 | std::size_t{byte(1)} << 8 | byte(2),
          .type = byte(3),
          .flags = byte(4)};
}

std::string Setting(std::uint8_t name, std::uint32_t value) {
  std::string setting = {'\0', static_cast<char>(name)};
  for (const int shift : {24, 16, 8, 0}) setting += static_cast<char>(value >> shift & 0xFF);
  return setting;
}

}  // namespace

GreetingSoFar ReadGreeting(std::string_view bytes) {
  const std::size_t known = std::min(bytes.size(), kPreface.size());
  if (bytes.substr(0, known) != kPreface.substr(0, known)) return {Greeting::kForeign};
  std::size_t at = kPreface.size();
  int calls = 0;
  for (std::size_t frame = 0; frame < kMaxFrames; ++frame) {
    if (at + kHead > kMaxGreeting) return {Greeting::kForeign};
    if (bytes.size() < at + kHead) return {Greeting::kIncomplete, at + kHead};
    const Head head = HeadAt(bytes.substr(at));
    if (head.length > kLongestFrame) return {Greeting::kForeign};
    if (frame == 0 && head.type != kSettings) return {Greeting::kForeign};
    if (head.type == kSettings && (head.flags & kAck) != 0) return {Greeting::kAcknowledged};
    // Our limit of headers fits into a frame, so it needs no continuation.
    if (head.type == kContinuation) return {Greeting::kForeign};
    if (head.type == kHeaders && ++calls > kMaxStreams) return {Greeting::kForeign};
    at += kHead + head.length;
  }
  return {Greeting::kForeign};
}

std::string SettingsFrame() {
  const std::string settings =
      Setting(kMaxConcurrentStreams, kMaxStreams) + Setting(kMaxHeaderListSize, kMaxMetadata);
  const std::string head = {'\0', '\0', static_cast<char>(settings.size()), kSettings};
  return head + std::string(5, '\0') + settings;
}

}  // namespace baton::app
