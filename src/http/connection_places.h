// ConnectionPlaces: the connections of the HTTP server, in a bounded number of places.
//
// No client may hold all places. So a client that opens very many connections leaves the
// connections of other clients open. A client is the name that access::LimitedAs gives a caller
// when it connects: a user of this host, or another host's address (of IPv6: its network). The
// certificate and the token come later, so they don't matter here.
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
    kClient,  ///< the client has kMaxConnectionsOfClient; other places may be free, or not
    kAll,     ///< all kMaxConnections places are taken; the client has less than its share
  };
  /// Whether there is a place for one more connection of this client.
  Room RoomFor(const std::string& client) const;
  /// Makes room: closes the connection that has waited for longest (see Waiting). If no connection
  /// waits, closes the one whose client has taken nothing of its answer for longest, if this is 1 s
  /// or longer. If there is no such connection either, does nothing. `client`: closes only a
  /// connection of this client; null: of any client.
  void MakeRoom(const std::string* client);

  /// Takes a place. REQUIRES (checked): RoomFor(client) is kFree.
  void Add(std::shared_ptr<Connection> connection, std::string client);
  /// The connection waits (Connection::Owner::Waiting), so MakeRoom may close it. If it waited
  /// before, its waiting time begins again. REQUIRES: it was added.
  void Waiting(Connection& connection);
  /// The connection no longer waits. Does nothing if it was not added, or did not wait.
  void Busy(Connection& connection);
  /// Frees the connection's place. Does nothing for a connection that was not added.
  void Remove(Connection& connection);
  /// Closes all connections. REQUIRES: the owner calls Remove when a connection closes.
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
