// Connection: one client's socket, which serves one request after another. Only the server's socket
// thread uses it. REQUIRES: a shared_ptr owns it. While reads or writes run, the connection also
// owns itself.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "access/callers.h"
#include "http/channel.h"
#include "http/event_feed.h"
#include "http/foreign.h"
#include "http/response.h"
#include "http/server.h"

namespace baton::http {

/// How a client is too slow: see HttpBounds::slow_requests and slow_readers.
enum class Slow { kRequest, kReader };

/// The parts of a request that decide its answer.
struct Request {
  std::string target;
  std::string accept = {};
  std::string last_event_id = {};
  Caller caller = {};
  std::vector<std::string> authorization = {};  ///< the values of all Authorization headers
  boost::asio::ip::address peer = {};  ///< 0.0.0.0 if the client closed the connection at once
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  /// The server, as a connection needs it. Connections call it on the socket thread.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Must call `done` once, on the socket thread, at once or later. `done` owns the connection.
    /// Once the connection has closed, `done` does nothing, and need not be called.
    virtual void Answer(Connection& connection, Request request,
                        std::function<void(Response)> done) = 0;
    /// The connection waits for a TLS handshake, for a request, or for the client to close. So the
    /// server may close the connection to make room.
    virtual void Waiting(Connection& connection) = 0;
    /// The connection no longer waits for a request: a request has come, or reading it has failed.
    /// Not called when another wait ends, or after Close.
    virtual void Busy(Connection& connection) = 0;
    /// The connection has closed. Called once. Afterwards only CutOff may be called for this
    /// connection.
    virtual void Closed(Connection& connection) = 0;
    /// A connection is cut off, because its client sent a request or read an answer too slowly.
    /// Called for kReader at most once a connection.
    virtual void CutOff(Slow what) = 0;
  };

  /// `context`: see Channel. Keeps no reference to `options`. REQUIRES: `owner` outlives this
  /// object.
  Connection(boost::asio::ip::tcp::socket socket, ssl_ctx_st* context, const HttpOptions& options,
             Owner& owner);

  /// Sets what the kernel said of the client. Without this call, PeerCaller has no peer and no
  /// user. REQUIRES: called at most once, before Start.
  void Know(access::Caller caller) { caller_ = std::move(caller); }
  /// Begins to read. REQUIRES: called once.
  void Start();
  /// The client's user, address and certificate. The certificate is set after the handshake. Each
  /// call checks whether the certificate has expired (access::Certify).
  const access::Caller& PeerCaller();
  /// Whether the connection has TLS.
  bool secure() const { return stream_.secure(); }
  /// Call this for an answer that may take long. Until the answer, the connection closes when the
  /// client is gone; with TLS, up to a second later. A client that has closed only its sending side
  /// counts as gone. Without TLS, a client that has already sent its next request is not watched.
  void WatchForEnd();
  /// When the kernel last took data of the answer that is being sent. The kernel takes more data,
  /// some 100 KiB at a time, once the client has read as much. nullopt: nothing is being sent.
  std::optional<std::chrono::steady_clock::time_point> UnreadSince() const;
  /// Closes the connection, and calls Owner::Closed before it returns. Later calls do nothing.
  void Close();
  /// Like Close, but the kernel also drops the data that it has not sent yet.
  void Abandon();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  bool IsOld() const;
  void ShakeHands();
  void Read();
  void OnRead(boost::beast::error_code error);
  void Refuse(boost::beast::error_code error);
  void Handle();
  void Write(Response response, bool keep_alive);
  void OnWritten(boost::beast::error_code error, bool keep_alive);
  // A feed is an answer without an end. It is written until the client goes or reads too slowly,
  // the connection is too old, or the node stops.
  void BeginFeed(const Response& response);
  void WatchClient();
  bool ClientHasLeft();
  void LookForEnd();
  void OnFed(boost::beast::error_code error);
  void Feed();
  void AwaitFeed();
  void SendFeed(std::string text);
  void FinishSending();
  void Discard();
  /// Calls Owner::CutOff, once, if `error` says that the client did not take the answer in time.
  void NoteSlowReader(boost::beast::error_code error);

  Channel stream_;
  const std::chrono::milliseconds idle_timeout_;
  const std::chrono::milliseconds write_timeout_;
  const std::chrono::milliseconds max_age_;
  const std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  Owner& owner_;
  const boost::asio::ip::address peer_;
  access::Caller caller_;
  ClientCertificate certificate_;  // the client's
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  static constexpr unsigned kHttp11 = 11;  // in Beast's numbering
  unsigned version_ = kHttp11;
  bool head_ = false;   // the answer has no body
  bool allow_ = false;  // the answer names the allowed methods
  std::size_t discarded_ = 0;
  bool closed_ = false;
  bool writing_ = false;       // an answer, or a part of a feed
  bool slow_ = false;          // CutOff was called
  std::uint64_t answers_ = 0;  // answers begun; a WatchForEnd of an earlier one is ignored

  std::shared_ptr<EventFeed> feed_;      // null: there is none, or it has ended
  boost::asio::steady_timer heartbeat_;  // LookForEnd uses it, too
  std::string sending_;
  bool resting_ = false;  // nothing is being sent; the feed has nothing new
};

}  // namespace baton::http
