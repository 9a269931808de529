// ConnectionPlaces: the connections of the HTTP server. Each connection takes one of
// kMaxConnections places (server.h).
//
// One client gets at most kMaxConnectionsOfClient places, so it can't take all of them. A client is
// a user of this host, or the address of another host (for IPv6: the network). access::LimitedAs
// names the client when it connects. Certificates and tokens come later, so they don't count here.
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
    kClient,  ///< the client has kMaxConnectionsOfClient places, whether or not others are free
    kAll,     ///< all places are taken, and the client has fewer than kMaxConnectionsOfClient
  };
  /// Whether there is a place for one more connection of this client.
  Room RoomFor(const std::string& client) const;
  /// Makes room: closes the connection that has waited for longest (see Waiting). If no connection
  /// waits, looks for clients that have read nothing of their answers for 1 s or longer, and closes
  /// the connection of the slowest. Otherwise does nothing. `client`: closes only a connection of
  /// this client; null: of any client.
  void MakeRoom(const std::string* client);

  /// Takes a place for the connection. REQUIRES (checked): RoomFor(client) is kFree.
  void Add(std::shared_ptr<Connection> connection, std::string client);
  /// The connection waits (Connection::Owner::Waiting), so MakeRoom may close it. If the connection
  /// waited before, its wait begins again. REQUIRES: the connection was added.
  void Waiting(Connection& connection);
  /// The connection no longer waits. Does nothing if the connection was not added, or did not wait.
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
