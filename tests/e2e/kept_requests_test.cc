// What gRPC keeps of a request until its call is over, which is decided by the caller.
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/grpc/server_limits.h"
#include "e2e/bad_input.h"

namespace baton::e2e {
namespace {

/// A client that takes no message, because its streams have no window, and keeps to all else that
/// HTTP/2 asks of it.
class Windowless {
 public:
  explicit Windowless(std::uint16_t port) : socket_(port) {
    const std::string no_window = std::string("\0\4\0\0\0\0", 6);
    socket_.Send(Http2Greeting() + FrameOf({kSettings}, no_window) + FrameOf({kSettings, kAck}));
  }

  /// Sends the next call once the connection has room for it. False: it gets none.
  bool Call(const CallHeaders& headers, const std::string& request) {
    constexpr std::size_t kFrame = 16'384;
    const auto length = static_cast<std::uint32_t>(request.size());
    std::string body{'\0', '\0', static_cast<char>(length >> 16), static_cast<char>(length >> 8),
                     static_cast<char>(length)};
    body += request;
    const auto size = static_cast<std::int64_t>(body.size());
    if (!Eventually(kPatience, [&] { return Room() >= size; })) return false;
    room_ -= size;
    std::string frames = FrameOf({kHeaders, kEndOfHeaders, stream_}, headers.Encoded());
    for (std::size_t at = 0; at < body.size(); at += kFrame) {
      const bool last = at + kFrame >= body.size();
      frames += FrameOf({kData, last ? kEndOfStream : char{}, stream_}, body.substr(at, kFrame));
    }
    stream_ += 2;
    return socket_.Send(frames);
  }

 private:
  /// How many bytes of data the server takes now.
  std::int64_t Room() {
    constexpr std::size_t kHead = 9;
    heard_ += socket_.Take();
    const auto number = [&](std::size_t at, int bytes) {
      std::uint32_t sum = 0;
      for (int i = 0; i < bytes; ++i, ++at) sum = sum << 8 | static_cast<std::uint8_t>(heard_[at]);
      return sum;
    };
    while (heard_.size() >= kHead && heard_.size() >= kHead + number(0, 3)) {
      if (heard_[3] == kWindowUpdate && number(5, 4) == 0) room_ += number(kHead, 4);
      heard_.erase(0, kHead + number(0, 3));
    }
    return room_;
  }

  Socket socket_;
  std::string heard_;
  std::int64_t room_ = 65'535;
  std::uint32_t stream_ = 1;
};

// Plan: callers who keep to all limits take no answers, and send requests of 60 kB that become 2
// MiB once they are parsed, 48 of each method. The node drops each request before it sends the
// answer. The node has one arena of malloc: with more, as many as a machine's processors ask for,
// freed requests of one method left 24 MiB.
TEST_F(BadInput, RequestsWhoseAnswersNobodyTakesAreNotKept) {
  constexpr std::uint64_t kMaxKept = 16 << 20;
  constexpr int kCalls = 3 * kMaxStreamsOfNode;
  BeginUnder("MALLOC_ARENA_MAX=1 exec \"$@\"");
  std::string unknown_fields;  // field 15, which is empty
  while (unknown_fields.size() < 60'000) unknown_fields += "\x7a" + std::string(1, '\0');
  std::vector<Windowless> callers;
  const auto keeps_little = [&](const CallHeaders& headers, const std::string& field = "") {
    const std::string handled = "grpc_server_handled_total{grpc_type=\"unary\",grpc_service=\"" +
                                headers.service + "\",grpc_method=\"" + headers.method +
                                "\",grpc_code=\"OK\"}";
    const double handled_before = cluster_.Metric("n1", handled);
    const std::uint64_t before = Resident(node_->pid());
    for (int i = 0; i < kCalls; ++i) {
      if (i % kMaxStreamsOfNode == 0) callers.emplace_back(PortOf(node_->endpoint()));
      ASSERT_TRUE(callers.back().Call(headers, field + unknown_fields)) << headers.method << i;
    }
    cluster_.Await(headers.method + " was handled",
                   [&] { return cluster_.Metric("n1", handled) == handled_before + kCalls; });
    EXPECT_TRUE(Eventually(kPatience, [&] { return Resident(node_->pid()) < before + kMaxKept; }))
        << headers.method << ": " << Resident(node_->pid()) << ", was " << before;
  };
  for (const char* method : {"WhoAmI", "GetStatus", "ListShards", "DescribeShard", "ListEvents"}) {
    keeps_little({.method = method});
  }
  const std::string shard_0("\x10\0", 2);
  keeps_little({.method = "Lookup", .service = "baton.v1.RoutingService"}, shard_0);
  RecordProperty("resident_mib", static_cast<int>(Resident(node_->pid()) >> 20));
  ExpectUndisturbed();
}

}  // namespace
}  // namespace baton::e2e
