// Channel: one client's socket, with TLS or without. It meets Asio's rules for an AsyncStream.
//
// Only the server's socket thread uses it. REQUIRES: the channel lives until the handlers of all
// its calls have run.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/client_certificate.h"

namespace baton::http {

class Channel {
 public:
  using Plain = boost::beast::tcp_stream;
  using executor_type = Plain::executor_type;
  using Done = std::function<void(boost::beast::error_code)>;

  /// `context`: OpenSSL's context of a server (ServerContext); null: no TLS. The channel keeps a
  /// reference to the context. Aborts the process if there is no memory for TLS.
  Channel(boost::asio::ip::tcp::socket socket, ssl_ctx_st* context);

  executor_type get_executor() { return plain_.get_executor(); }
  boost::asio::ip::tcp::socket& socket() { return plain_.socket(); }
  /// Limits reads and writes that begin after this call. A read or write that is not done `time`
  /// from now ends with beast::error::timeout, and the socket is closed. A read or write that runs
  /// already keeps its earlier limit. REQUIRES: a read and a write don't both run now.
  void expires_after(std::chrono::nanoseconds time) { plain_.expires_after(time); }
  /// Reads and writes that begin after this call have no limit. REQUIRES: as for expires_after.
  void expires_never() { plain_.expires_never(); }
  /// Closes the socket at once.
  void Close() { plain_.close(); }

  bool secure() const { return tls_.has_value(); }
  /// Makes the TLS handshake, and then calls `done`. REQUIRES: secure(); nothing is read or written
  /// before `done` is called.
  void Handshake(Done done);
  /// Tells the client that no data follows. With TLS, the client then knows that the answer is
  /// complete. `done` may be called before FinishSending returns. REQUIRES: afterwards nothing is
  /// written, and only plain() is read.
  void FinishSending(Done done);
  /// Whether the client has closed its sending side, or is gone. Bytes that the client sent before
  /// may still be left to read. Asks the kernel, without waiting.
  bool ClientHasClosed();
  /// Returns the client's certificate. If there is no TLS, or the client showed no certificate, the
  /// result has an empty name and never expires. REQUIRES: the handshake is done.
  ClientCertificate Certificate();

  template <typename Buffers, typename Handler>
  void async_read_some(const Buffers& buffers, Handler&& handler) {
    tls_ ? tls_->async_read_some(buffers, std::forward<Handler>(handler))
         : plain_.async_read_some(buffers, std::forward<Handler>(handler));
  }
  template <typename Buffers, typename Handler>
  void async_write_some(const Buffers& buffers, Handler&& handler) {
    wrote_at_ = std::chrono::steady_clock::now();
    tls_ ? tls_->async_write_some(buffers, std::forward<Handler>(handler))
         : plain_.async_write_some(buffers, std::forward<Handler>(handler));
  }
  /// When the last write to the socket began. A long text needs many writes. Each write begins when
  /// the kernel has taken the data of the write before.
  std::chrono::steady_clock::time_point wrote_at() const { return wrote_at_; }
  /// The socket without TLS, for reading after FinishSending.
  Plain& plain() { return plain_; }

 private:
  Plain plain_;
  std::chrono::steady_clock::time_point wrote_at_{};
  std::optional<boost::asio::ssl::stream<Plain&>> tls_;
};

}  // namespace baton::http
