// ConnectionPlaces: the connections of the HTTP server, in a bounded number of places.
//
// No client may hold all of them, so a flood of connections from one client leaves the others'
// connections open. A client is what access::LimitedAs says when it connects: a user of this host,
// or another host's address. Certificates and tokens come later, so they don't tell clients apart
// here.
//
// Only the server's socket thread uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "http/connection.h"

namespace baton::http {

class ConnectionPlaces {
 public:
  enum class Room : std::uint8_t {
    kFree,    ///< there is a place
    kClient,  ///< the client has all of its share; other places may be free, or not
    kAll,     ///< all places are taken, and the client has less than its share
  };
  /// Whether there is a place for one more connection of this client.
  Room RoomFor(const std::string& client) const;
  /// Makes room by closing the connection that has been idle for longest. If none is idle, closes
  /// the one whose client has taken nothing of its answer for longest, and for 1 s at least. Does
  /// nothing if there is none. `client`: only its connections are closed; null: of all clients.
  void MakeRoom(const std::string* client);

  /// Takes a place. REQUIRES (checked): RoomFor(client) is kFree.
  void Add(std::shared_ptr<Connection> connection, std::string client);
  /// The connection waits for a request, so MakeRoom may close it. REQUIRES: it was added.
  void Waiting(Connection& connection);
  /// The connection is busy. Does nothing for one that was not added.
  void Busy(Connection& connection);
  /// The place is free. Does nothing for a connection that was not added.
  void Remove(Connection& connection);
  /// Closes all connections.
  void CloseAll();

 private:
  using Idle = std::list<Connection*>;
  struct Place {
    std::shared_ptr<Connection> connection;
    std::string client;
    std::optional<Idle::iterator> idle = {};  ///< unset: busy
  };

  std::unordered_map<Connection*, Place> places_;
  std::unordered_map<std::string, std::size_t> of_client_;  // how many places each client has
  Idle idle_;                                               // the longest first
};

}  // namespace baton::http
