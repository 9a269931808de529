// PortReservation: holds a port before its server exists.
//
// The node must know its ports before it starts, and the servers start after the node. So the ports
// are bound first, without listening. There are two ways to use a reservation:
//  - Take its socket (Release), and listen on it.
//  - Let a server of this process bind the same port, and destroy the reservation once that server
//    listens. The server's socket must set SO_REUSEADDR, as the reservation does.
// Until a socket listens, another process that sets SO_REUSEADDR can take the port. Programs that
// this process starts don't inherit the socket (close-on-exec).
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "baton/result.h"
#include "http/address.h"

namespace baton::app {

class PortReservation {
 public:
  /// Resolves the host and binds the first address that the resolver returns. The host localhost is
  /// 127.0.0.1. Port 0 picks a free port. May wait for the resolver, without a limit. kUnavailable:
  /// the host can't be resolved, or the port can't be bound. The message says why.
  static Result<PortReservation> Take(const http::Address& address);
  /// Closes the socket if Release was not called.
  ~PortReservation();
  PortReservation(PortReservation&& other) noexcept;
  PortReservation& operator=(PortReservation&&) = delete;

  /// Gives the bound socket to the caller, who must close it. Returns -1 if Release was called
  /// before, or if this object was moved from.
  int Release() { return std::exchange(socket_, -1); }

  /// The port that is bound, also if port 0 was asked for. port() and address() stay the same after
  /// Release.
  std::uint16_t port() const { return address_.port; }
  /// The numeric host and the bound port, as FormatAddress writes them.
  std::string address() const { return http::FormatAddress(address_); }

 private:
  PortReservation(int socket, http::Address address);

  int socket_;
  http::Address address_;
};

}  // namespace baton::app
