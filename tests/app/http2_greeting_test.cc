#include "app/daemon/http2_greeting.h"

#include <string>

#include <gtest/gtest.h>

namespace baton::app {
namespace {

const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string FrameOf(char type, char flags, std::size_t length = 0) {
  const std::string head = {static_cast<char>(length >> 16), static_cast<char>(length >> 8),
                            static_cast<char>(length), type, flags};
  return head + std::string(4, '\0') + std::string(length, 'x');
}
const std::string kSettings = FrameOf(4, 0, 6);
const std::string kAck = FrameOf(4, 1);
const std::string kCall = FrameOf(1, 4, 50);

Greeting StateOf(const std::string& bytes) { return ReadGreeting(bytes).state; }

// Each beginning of a good greeting is incomplete, and says how many bytes are of use next.
TEST(Http2Greeting, IsCompleteWithTheAcknowledgement) {
  const std::string greeting = kPreface + kSettings + FrameOf(8, 0, 4) + kCall + kAck;
  for (std::size_t size = 0; size < greeting.size(); ++size) {
    const GreetingSoFar so_far = ReadGreeting(greeting.substr(0, size));
    EXPECT_EQ(so_far.state, Greeting::kIncomplete) << size;
    EXPECT_GT(so_far.need, size);
  }
  EXPECT_EQ(StateOf(greeting), Greeting::kAcknowledged);
}

TEST(Http2Greeting, IsNothingElse) {
  EXPECT_EQ(StateOf("GET / HTTP/1.1\r\n"), Greeting::kForeign);
  EXPECT_EQ(StateOf(std::string("\x16\x03\x01", 3)), Greeting::kForeign) << "TLS";
  EXPECT_EQ(StateOf(kPreface + kCall), Greeting::kForeign) << "no settings";
  EXPECT_EQ(StateOf(kPreface + kSettings + FrameOf(9, 0, 4)), Greeting::kForeign)
      << "headers in pieces";
  EXPECT_EQ(StateOf(kPreface + kSettings + FrameOf(0, 0, 16'385)), Greeting::kForeign)
      << "a frame above the limit";
}

// Before the acknowledgement a client may send a little.
TEST(Http2Greeting, IsBounded) {
  std::string calls = kPreface + kSettings;
  for (int i = 0; i < 100; ++i) calls += kCall;
  EXPECT_EQ(StateOf(calls + kAck), Greeting::kAcknowledged);
  EXPECT_EQ(StateOf(calls + kCall), Greeting::kForeign);
  std::string pings = kPreface + kSettings;
  for (int i = 0; i < 300; ++i) pings += FrameOf(6, 0, 8);
  EXPECT_EQ(StateOf(pings), Greeting::kForeign);
  std::string data = kPreface + kSettings;
  for (int i = 0; i < 2; ++i) data += FrameOf(0, 0, 16'384);
  EXPECT_EQ(StateOf(data), Greeting::kForeign);
}

}  // namespace
}  // namespace baton::app
