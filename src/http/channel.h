// Channel: one client's socket, with TLS or without. An AsyncStream, as Asio calls it.
//
// Only the server's socket thread uses it. It must live until the handlers of its calls have run.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/pem.h"

namespace baton::http {

class Channel {
 public:
  using Plain = boost::beast::tcp_stream;
  using executor_type = Plain::executor_type;
  using Done = std::function<void(boost::beast::error_code)>;

  /// `context`: OpenSSL's, of a server; null: no TLS.
  Channel(boost::asio::ip::tcp::socket socket, ssl_ctx_st* context);

  executor_type get_executor() { return plain_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return plain_.socket(); }
  /// Calls that take longer from now on end with beast::error::timeout, and the socket is closed.
  void expires_after(std::chrono::nanoseconds time) { plain_.expires_after(time); }
  void expires_never() { plain_.expires_never(); }
  /// Closes the socket at once.
  void Close() { plain_.close(); }

  bool secure() const { return tls_.has_value(); }
  /// REQUIRES: secure(). Nothing may be read or written before it is done.
  void Handshake(Done done);
  /// Tells the client that nothing follows: with TLS it could not know otherwise that an answer is
  /// complete. `done` may be called at once. After it only plain() may be read.
  void FinishSending(Done done);
  /// Whether the client's host has said that nothing follows, even if there are bytes to be read.
  bool ClientHasClosed();
  /// The name in the client's certificate (NameInCertificate), after the handshake; empty: it
  /// showed none, or there is no name in it.
  std::string CertificateName();

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    tls_ ? tls_->async_read_some(buffers, std::forward<Handler>(handler))
         : plain_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    tls_ ? tls_->async_write_some(buffers, std::forward<Handler>(handler))
         : plain_.async_write_some(buffers, std::forward<Handler>(handler));
  }
  /// Reads the socket's bytes as they are, after FinishSending.
  Plain& plain() { return plain_; }

 private:
  Plain plain_;
  std::optional<boost::asio::ssl::stream<Plain&>> tls_;
};

}  // namespace baton::http
