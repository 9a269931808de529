// Connection: one client's socket, request after request. Runs on the server's socket thread only.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/event_feed.h"
#include "http/response.h"
#include "http/server.h"

namespace baton::http {

enum class Slow { kRequest, kReader };

/// What of a request decides its answer.
struct Request {
  std::string target;
  std::string accept = {};
  std::string last_event_id = {};
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// What a connection needs from its server. Called on the socket thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Calls `done` exactly once, on the socket thread, at once or later; not at all for a
    /// connection that was closed meanwhile.
    virtual void Answer(Connection& connection, Request request,
                        std::function<void(Response)> done) = 0;
    /// The connection has begun to wait for a request: it may be closed to make room.
    virtual void Waiting(Connection& connection) = 0;
    /// The connection is busy with a request, or gone for good.
    virtual void Busy(Connection& connection) = 0;
    virtual void Closed(Connection& connection) = 0;
    /// The client sent its request too slowly, or read its answer too slowly: it is cut off.
    virtual void CutOff(Slow what) = 0;
  };

  Connection(boost::asio::ip::tcp::socket socket, const HttpOptions& options, Owner& owner);

  void Start();
  /// The answer may take long: closes as soon as the client is gone. One that has closed its
  /// sending side counts as gone, as nothing tells it from one that closed both. Where the client
  /// has sent its next request already its end is not seen before the answer.
  void WatchForEnd();
  /// Idempotent. The owner is told once.
  void Close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void Read();
  void OnRead(boost::beast::error_code error);
  void Refuse(boost::beast::error_code error);
  void Handle();
  void Write(Response response, bool keep_alive);
  void OnWritten(boost::beast::error_code error, bool keep_alive);
  // An answer without an end: written until the client goes, reads too slowly, or the node stops.
  void BeginFeed(const Response& response);
  void WatchClient();
  bool ClientHasLeft();
  void OnFed(boost::beast::error_code error);
  void Feed();
  void AwaitFeed();
  void SendFeed(std::string text);
  void FinishSending();
  void Discard();
  /// Tells the owner, once, where `error` says that the client did not take what was sent in time.
  void NoteSlowReader(boost::beast::error_code error);

  boost::beast::tcp_stream stream_;
  const std::chrono::milliseconds idle_timeout_;
  const std::chrono::milliseconds write_timeout_;
  Owner& owner_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  static constexpr unsigned kHttp11 = 11;  // as Beast numbers versions
  unsigned version_ = kHttp11;
  bool head_ = false;   // answer without a body
  bool allow_ = false;  // name the allowed methods
  std::size_t discarded_ = 0;
  bool closed_ = false;
  bool slow_ = false;          // the owner was told so
  std::uint64_t answers_ = 0;  // begun; what was to watch for the end of an earlier one is over

  std::shared_ptr<EventFeed> feed_;  // null: none, or over
  boost::asio::steady_timer heartbeat_;
  std::string sending_;
  bool resting_ = false;  // nothing is being sent: the feed is waited for
};

}  // namespace baton::http
