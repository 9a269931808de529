// HTTP/2 by hand, for what no client library would send.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace baton::e2e {

/// HTTP/2's preface and an empty SETTINGS frame, which gRPC clients send first.
inline std::string Http2Greeting() {
  return std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string("\0\0\0\4\0\0\0\0\0", 9);
}

enum Frame : char {
  kData = 0,
  kHeaders = 1,
  kPriority = 2,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kWindowUpdate = 8,
  kContinuation = 9
};
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

/// `count` streams of gRPC's reflection that ask for all services, and then wait.
inline std::string ReflectionStreams(std::uint32_t count) {
  const std::string headers = CallHeaders{.method = "ServerReflectionInfo",
                                          .service = "grpc.reflection.v1alpha.ServerReflection"}
                                  .Encoded();
  std::string streams;
  for (std::uint32_t stream = 1; stream < 2 * count; stream += 2) {
    streams += FrameOf({kHeaders, kEndOfHeaders, stream}, headers) +
               FrameOf({kData, 0, stream}, std::string("\0\0\0\0\3\x3a\1*", 8));
  }
  return streams;
}

/// The beginning of the `index`th call of a connection, without its request.
inline std::string CallOf(std::uint32_t index) {
  static const std::string headers = CallHeaders().Encoded();
  return FrameOf({kHeaders, kEndOfHeaders, 1 + 2 * index}, headers);
}

/// CVE-2023-1428: gRPC releases around 1.51 abort if one of these headers is followed by so much
/// that the limit of 8 KiB is exceeded. Each form has a name for messages. `scheme`: of the calls.
inline std::vector<std::pair<std::string, std::string>> AbortingHeaders(const std::string& scheme) {
  const std::string pad = Header("x-pad", std::string(8'192, 'a'));
  std::string pads;
  for (int i = 0; i < 9; ++i) pads += Header("x-pad-" + std::to_string(i), std::string(1'024, 'a'));
  const std::string stats = Header("grpclb_client_stats", "x");
  const auto call = [&](const std::string& more, const std::string& te = "trailers") {
    return CallHeaders{.scheme = scheme, .te = te, .more = more}.Encoded();
  };
  return {{"te", call(pad, "x")},
          {"te, many", call(pads, "x")},
          {"te last", pad + call("", "x")},
          {"scheme", CallHeaders{.scheme = "x", .more = pad}.Encoded()},
          {"scheme, many", CallHeaders{.scheme = "x", .more = pads}.Encoded()},
          {"stats", call(stats + pad)},
          {"stats, many", call(stats + pads)},
          {"stats last", call(pad + stats)},
          {"all", CallHeaders{.scheme = "x", .te = "x", .more = stats + pad}.Encoded()}};
}

}  // namespace baton::e2e
