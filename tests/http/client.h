// A plain TCP client for the server's tests. It sends and reads bytes, with a deadline on both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace baton::http {

class Client {
 public:
  /// Connects to 127.0.0.1:port, from an address of this host. Check connected().
  explicit Client(std::uint16_t port, const char* from = "127.0.0.1");
  ~Client();
  Client(Client&& other) noexcept;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return socket_ >= 0; }
  /// Whether something can be read now, or the server has closed.
  bool Readable() const;
  /// Resets the connection, as a host does that has forgotten it.
  void Reset();
  /// False: the server closed the connection.
  bool Send(std::string_view bytes);
  /// Says that nothing more will be sent.
  void CloseSending();
  /// Reads one response: the head, and as many bytes of body as it announces (none after HEAD). If
  /// the end or the deadline comes first, returns what was read.
  std::string Receive(bool head_request = false);
  /// Reads up to `end`, and returns what came before it. If nothing more comes, returns what came.
  std::string ReceiveUntil(std::string_view end);
  /// Reads until the server closes. `closed`: whether it did before the deadline.
  std::string ReceiveAll(bool* closed = nullptr);

 private:
  /// False: the connection was closed, or nothing came in time.
  bool Fill(bool* closed);

  int socket_ = -1;
  std::string unread_;
};

/// GET on a connection of its own. Returns the whole response.
std::string Get(std::uint16_t port, const std::string& target);
/// The number in the status line; 0 if there is none.
int StatusOf(const std::string& response);
std::string BodyOf(const std::string& response);
/// The value of a header, by the name that the server writes; empty if absent.
std::string HeaderOf(const std::string& response, const std::string& name);

}  // namespace baton::http
