// PortReservation: a port that is ours before its server exists.
//
// gRPC binds its port only when it starts to serve, but the node must know the port before it
// starts, and the services need the node. So the port is bound first, without listening: Linux lets
// another socket of this process bind it too (both set SO_REUSEADDR) as long as only one of them
// listens, and refuses whoever comes after that. Let go of it once the server listens.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "baton/result.h"
#include "http/address.h"

namespace baton::app {

class PortReservation {
 public:
  /// Resolves the host and binds; port 0 picks one. kUnavailable: it can't be bound, and why.
  static Result<PortReservation> Take(const http::Address& address);
  ~PortReservation();
  PortReservation(PortReservation&& other) noexcept;
  PortReservation& operator=(PortReservation&&) = delete;

  /// The bound socket, which is the caller's from now on: to listen on it.
  int Release() { return std::exchange(socket_, -1); }

  std::uint16_t port() const { return address_.port; }
  /// Numeric host and real port, as a server takes it.
  std::string address() const { return http::FormatAddress(address_); }

 private:
  PortReservation(int socket, http::Address address);

  int socket_;
  http::Address address_;
};

}  // namespace baton::app
