// A plain TCP client for the server's tests: sends bytes, reads bytes, with a deadline on both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace baton::http {

class Client {
 public:
  /// Connects to 127.0.0.1:port. Check connected().
  explicit Client(std::uint16_t port);
  ~Client();
  Client(Client&& other) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return socket_ >= 0; }
  /// Something can be read now, or the server closed.
  bool Readable() const;
  /// Ends the connection by a reset, as a client's host does that has forgotten it.
  void Reset();
  /// False: the server closed the connection.
  bool Send(std::string_view bytes);
  /// One response: head and as many bytes of body as it announces (none after HEAD). What was read
  /// by the end or the deadline, if that comes first.
  std::string Receive(bool head_request = false);
  /// Up to `end`, which is taken off; what came without it where nothing more comes.
  std::string ReceiveUntil(std::string_view end);
  /// Everything until the server closes; `closed` tells whether it did before the deadline.
  std::string ReceiveAll(bool* closed = nullptr);

 private:
  /// False: closed, or nothing came in time.
  bool Fill(bool* closed);

  int socket_ = -1;
  std::string unread_;
};

/// GET on a connection of its own: the whole response.
std::string Get(std::uint16_t port, const std::string& target);
/// The number in the status line; 0 if there is none.
int StatusOf(const std::string& response);
std::string BodyOf(const std::string& response);
/// The value of a header, by its name as the server writes it; empty if absent.
std::string HeaderOf(const std::string& response, const std::string& name);

}  // namespace baton::http
