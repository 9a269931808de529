// HTTP/2 by hand, for what no client library would send.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

namespace baton::e2e {

/// HTTP/2's preface and an empty SETTINGS frame, which gRPC clients send first.
inline std::string Http2Greeting() {
  return std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string("\0\0\0\4\0\0\0\0\0", 9);
}

enum Frame : char { kData = 0, kHeaders = 1, kSettings = 4, kPing = 6, kContinuation = 9 };
inline constexpr char kAck = 1;
inline constexpr char kEndOfStream = 1;
inline constexpr char kEndOfHeaders = 4;

struct FrameHead {
  Frame type = kData;
  char flags = 0;
  std::uint32_t stream = 0;
};

inline std::string FrameOf(const FrameHead& head, const std::string& payload = "") {
  const auto low_bytes = [](std::size_t number, int count) {
    std::string bytes;
    for (int i = count - 1; i >= 0; --i) bytes += static_cast<char>(number >> (8 * i) & 0xFF);
    return bytes;
  };
  return low_bytes(payload.size(), 3) + std::string{head.type, head.flags} +
         low_bytes(head.stream, 4) + payload;
}

/// A header that is not in HPACK's tables.
inline std::string Header(const std::string& name, const std::string& value) {
  const auto text = [](const std::string& bytes) {
    constexpr std::size_t kPrefix = 127;  // from here on more bytes tell the length
    std::string length(1, static_cast<char>(std::min(bytes.size(), kPrefix)));
    if (bytes.size() >= kPrefix) {
      std::size_t rest = bytes.size() - kPrefix;
      for (; rest >= 0x80; rest >>= 7) length += static_cast<char>(rest % 0x80 | 0x80);
      length += static_cast<char>(rest);
    }
    return length + bytes;
  };
  return std::string(1, '\0') + text(name) + text(value);
}

/// The headers of a call.
struct CallHeaders {
  std::string method = "GetStatus";
  std::string scheme = "http";
  std::string te = "trailers";  ///< empty: the header is not there
  std::string service = "baton.v1.AdminService";
  std::string more = {};  ///< encoded

  std::string Encoded() const {
    return Header(":method", "POST") + Header(":scheme", scheme) +
           Header(":path", "/" + service + "/" + method) + Header(":authority", "x") +
           (te.empty() ? "" : Header("te", te)) + Header("content-type", "application/grpc") + more;
  }
};

}  // namespace baton::e2e
