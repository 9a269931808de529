// The beginning of an HTTP/2 connection, up to the client's acknowledgement of our
// settings. http2_handshakes.h says why that matters.
//
// Pure functions; any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace baton::app {

enum class Greeting {
  kIncomplete,    ///< it may go on well
  kAcknowledged,  ///< the client has acknowledged the settings
  kForeign,       ///< no HTTP/2, or more than a client needs to say before
};

struct GreetingSoFar {
  Greeting state = Greeting::kIncomplete;
  std::size_t need = 0;  ///< if incomplete: look again when so many bytes have come
};

/// The most that a client may send until it is served: a few requests, of which the longest has
/// 4 KiB. In bytes.
inline constexpr std::size_t kMaxGreeting = 24 << 10;

/// Reads all that the client has sent so far.
GreetingSoFar ReadGreeting(std::string_view bytes);

/// The settings that the server sends first.
std::string SettingsFrame();

}  // namespace baton::app
