// PortReservation: holds a port before its server exists.
//
// gRPC binds its port only when it starts to serve. But the node must know the port before it
// starts, and the services need the node. So the port is bound first, without listening. Linux lets
// another socket of this process bind it too (both set SO_REUSEADDR) as long as only one of them
// listens; then it refuses other processes. Either listen on this socket, which Release gives away,
// or let a server bind the same port, and destroy the reservation once that server listens.
//
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "baton/result.h"
#include "http/address.h"

namespace baton::app {

class PortReservation {
 public:
  /// Resolves the host and binds its first address; port 0 picks a free port. Blocks as long as the
  /// resolver does. kUnavailable: the host is not known, or the port can't be bound; the message
  /// says why.
  static Result<PortReservation> Take(const http::Address& address);
  /// Closes the socket, unless Release gave it away.
  ~PortReservation();
  PortReservation(PortReservation&& other) noexcept;
  PortReservation& operator=(PortReservation&&) = delete;

  /// Gives the bound socket to the caller, to listen on it and close it. -1: it was given before.
  int Release() { return std::exchange(socket_, -1); }

  std::uint16_t port() const { return address_.port; }
  /// The numeric host and the real port, in the form that servers take.
  std::string address() const { return http::FormatAddress(address_); }

 private:
  PortReservation(int socket, http::Address address);

  int socket_;
  http::Address address_;
};

}  // namespace baton::app
