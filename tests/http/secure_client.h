// A client that speaks HTTP with TLS, with a deadline on each step.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/pem.h"

namespace baton::http {

class SecureClient {
 public:
  /// Connects to 127.0.0.1:port, trusts texts.ca, and shows texts.cert if it is given. See error().
  /// `protocol`: what it says it will speak (ALPN), "h2"; empty: nothing.
  SecureClient(std::uint16_t port, const PemTexts& texts, const std::string& protocol = "");

  bool Send(const std::string& bytes);
  /// Sends the bytes one by one, each with a new key (KeyUpdate of TLS 1.3).
  bool SendWithNewKeys(const std::string& bytes);
  /// Reads until the server says that nothing follows, or ends the connection; see error().
  std::string ReceiveAll();
  std::string ReceiveSome();
  /// A request after which the server closes. Returns the whole response.
  std::string Get(const std::string& target);
  /// The first one of all; timed_out: the server stood still.
  boost::system::error_code error() const { return error_; }

 private:
  using Done = std::function<void(boost::system::error_code, std::size_t)>;
  /// Waits for what `begin` begins, unless there was an error. Returns how many bytes it was about.
  std::size_t Wait(const std::function<void(Done)>& begin);

  boost::asio::io_context io_;
  boost::asio::ssl::context context_;
  std::unique_ptr<boost::asio::ssl::stream<boost::asio::ip::tcp::socket>> stream_;
  boost::system::error_code error_;
};

}  // namespace baton::http
